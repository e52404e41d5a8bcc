# SPDX-License-Identifier: BSD-2-Clause
# fish completion for cprof. What there is to offer, cprof itself says (cprof COMMAND --list-options), so
# that it is that of the cprof which is installed.

# What was typed: cprof, the command, whole words; not the one under the cursor.
function __cprof_typed
    commandline --tokenize --cut-at-cursor --current-process
end

function __cprof_is_first
    set -l typed (__cprof_typed)
    test (count $typed) -eq 1; or test (count $typed) -eq 2 -a "$typed[2]" = help
end

function __cprof_list
    set -l typed (__cprof_typed)
    $typed[1] $argv --list-options 2>/dev/null
end

# Options, or the values of the option before the cursor where there are only a few.
function __cprof_offer
    set -l typed (__cprof_typed)
    for line in (__cprof_list $typed[2])
        set -l fields (string split \t -- $line)
        if test "$fields[3]" != -; and contains -- "$typed[-1]" $fields[1] (string match -v -- - $fields[2])
            if test "$fields[4]" != -
                string split ' ' -- $fields[4]
            else if string match -q 'PID*' -- $fields[3]
                __fish_complete_pids
            else
                __fish_complete_path (commandline --current-token)
            end
            return
        end
    end
    string match -q -- '-*' (commandline --current-token); or return
    for line in (__cprof_list $typed[2])
        set -l fields (string split \t -- $line)
        printf '%s\t%s\n' $fields[1] $fields[5]
        test "$fields[2]" = -; or printf '%s\t%s\n' $fields[2] $fields[5]
    end
end

function __cprof_is_value
    set -l typed (__cprof_typed)
    test (count $typed) -gt 2; or return 1
    for line in (__cprof_list $typed[2])
        set -l fields (string split \t -- $line)
        test "$fields[3]" != -; and contains -- "$typed[-1]" $fields[1] (string match -v -- - $fields[2]); and return 0
    end
    return 1
end

complete -c cprof -f -n __cprof_is_first -a '(__cprof_list)'
complete -c cprof -n 'not __cprof_is_first' -a '(__cprof_offer)'
complete -c cprof -f -n '__cprof_is_value'
