# SPDX-License-Identifier: Apache-2.0
# bash completion for gait. The tool itself knows what may come next; a shell loads
# this with: eval "$(gait completion bash)"

# The words that the tool answers, one an entry, without what it says of each.
_gait_words() {
    local line
    for line in "${answer[@]:1}"; do
        line=${line%%$'\t'*}
        [[ $line == "$cur"* ]] && COMPREPLY+=("$line")
    done
    # a section's name goes on: --profiling.
    [[ ${#COMPREPLY[@]} == 1 && ${COMPREPLY[0]} == *. ]] && compopt -o nospace
}

# The line of another program, which begins with that word.
_gait_program() {
    if declare -F _command_offset >/dev/null; then
        _command_offset "$1"
    elif [[ $1 == "$COMP_CWORD" ]]; then
        mapfile -t COMPREPLY < <(compgen -c -- "$cur")
    else
        _gait_files -f
    fi
}

_gait_files() {
    compopt -o filenames
    mapfile -t -O "${#COMPREPLY[@]}" COMPREPLY < <(compgen "$@" -- "$cur")
}

_gait() {
    local answer cur=${COMP_WORDS[COMP_CWORD]} tool=${COMP_WORDS[0]/#\~/$HOME}
    local words=("${COMP_WORDS[@]:1:COMP_CWORD}")
    COMPREPLY=()
    # bash parts --name=value into three words
    if [[ $cur == = ]]; then
        cur=
        words+=("")
    fi
    mapfile -t answer < <("$tool" completion bash "${words[@]}" 2>/dev/null)
    case ${answer[0]} in
    words) _gait_words ;;
    files) _gait_files -f ;;
    folders) _gait_files -d ;;
    runs) _gait_files -d && _gait_files -f -X '!*.gait' ;;
    program\ *) _gait_program $((${answer[0]#program } + 1)) ;;
    esac
}
complete -F _gait gait
