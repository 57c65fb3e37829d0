#compdef gait
# SPDX-License-Identifier: Apache-2.0
# zsh completion for gait. The tool itself knows what may come next; a shell loads
# this with: eval "$(gait completion zsh)"

_gait() {
    local -a answer said sections
    local line
    answer=("${(@f)$("${words[1]/#\~/$HOME}" completion zsh "${(@)words[2,CURRENT]}" 2>/dev/null)}")
    [[ $PREFIX == --*=* ]] && compset -P '*='
    case $answer[1] in
    words)
        for line in "${(@)answer[2,-1]}"; do
            line=${${line//:/\\:}/$'\t'/:}
            # a section's name goes on: --profiling.
            if [[ ${line%%:*} == *. ]]; then
                sections+=("$line")
            else
                said+=("$line")
            fi
        done
        _describe gait said -- sections -S ''
        ;;
    files) _files ;;
    folders) _files -/ ;;
    runs) _alternative 'shards:shard:_path_files -g "*.gait"' 'runs:run:_path_files -/' ;;
    program\ *)
        shift $((${answer[1]#program } + 1)) words
        ((CURRENT -= ${answer[1]#program } + 1))
        _normal
        ;;
    esac
}

if [[ $funcstack[1] == _gait ]]; then
    _gait "$@"
else
    compdef _gait gait
fi
