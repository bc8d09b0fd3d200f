_bareclaw() {
  local IFS=$'\n'
  COMPREPLY=($(bareclaw complete-words -- "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null))
  local i
  for i in "${!COMPREPLY[@]}"; do COMPREPLY[i]=$(printf %q "${COMPREPLY[i]}"); done
}
complete -o default -F _bareclaw bareclaw
