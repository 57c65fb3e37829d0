# SPDX-License-Identifier: Apache-2.0
# fish completion for gait. The tool itself knows what may come next; a shell loads
# this with: gait completion fish | source

function __gait_complete
    set -l words (commandline -opc)
    set -l current (commandline -ct)
    set -l tool (string replace -r '^~' $HOME -- $words[1])
    set -l answer ($tool completion fish $words[2..-1] "$current" 2>/dev/null)
    set -l name (string match -r -- '^--[^=]*=' "$current") # of --name=value
    set -l part (string replace -- "$name" '' "$current")
    set -l found
    switch "$answer[1]"
        case words
            set found $answer[2..-1]
        case files
            set found (__fish_complete_path "$part")
        case folders
            set found (__fish_complete_directories "$part")
        case runs
            set found (string match -r -- '^[^\t]*(?:/|\.gait)(?:\t.*)?$' (__fish_complete_path "$part"))
        case 'program *'
            set -l rest (math 2 + (string replace 'program ' '' -- $answer[1]))
            set -l line (string escape -- $words[$rest..-1])
            complete -C "$line $current"
    end
    for word in $found
        echo "$name$word"
    end
end

complete -c gait -f -a '(__gait_complete)'
