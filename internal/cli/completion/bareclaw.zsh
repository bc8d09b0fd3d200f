_bareclaw() {
  local -a candidates
  candidates=("${(@f)$(bareclaw complete-words -- "${(@)words[2,CURRENT]}" 2>/dev/null)}")
  candidates=("${(@)candidates:#}")
  if (( $#candidates )); then compadd -- "${candidates[@]}"; else _files; fi
}
compdef _bareclaw bareclaw
