# SPDX-License-Identifier: BSD-2-Clause
# bash completion for cprof. What there is to offer, cprof itself says (cprof COMMAND --list-options),
# so that it is that of the cprof which is installed.

# The words behind `cprof` that begin with the one under the cursor. A value behind "=" is a word of
# its own to bash, and "=" another.
_cprof()
{
	local cprof=${1/#\~/$HOME} word=$2 before=$3 command=${COMP_WORDS[1]} i
	local name letter value words help options=()

	COMPREPLY=()
	if [[ $word == "=" ]]; then
		word=
	elif [[ $before == "=" ]]; then
		before=${COMP_WORDS[COMP_CWORD - 2]}
	fi
	if [[ $COMP_CWORD -eq 1 || ($command == help && $COMP_CWORD -eq 2) ]]; then
		mapfile -t COMPREPLY < <(compgen -W "$("$cprof" --list-options 2>/dev/null | cut -f 1)" -- "$word")
		return
	fi
	for ((i = 2; i < COMP_CWORD; i++)); do
		[[ ${COMP_WORDS[i]} == -- ]] || continue
		# a command to launch; its arguments are files, as far as we know
		((i == COMP_CWORD - 1)) && mapfile -t COMPREPLY < <(compgen -c -- "$word")
		return
	done
	while IFS=$'\t' read -r name letter value words help; do
		options+=("$name")
		[[ $letter == - ]] || options+=("$letter")
		[[ $value != - && ($before == "$name" || $before == "$letter") ]] || continue
		case $words:$value in
		-:PID*) mapfile -t COMPREPLY < <(compgen -W "$(cd /proc && echo [0-9]*)" -- "$word") ;;
		-:DIR*) mapfile -t COMPREPLY < <(compgen -d -- "$word") ;;
		-:*) ;; # files, by default
		*) mapfile -t COMPREPLY < <(compgen -W "$words" -- "$word") ;;
		esac
		return
	done < <("$cprof" "$command" --list-options 2>/dev/null)
	[[ $word != -* ]] || mapfile -t COMPREPLY < <(compgen -W "${options[*]}" -- "$word")
}

complete -o default -F _cprof cprof
