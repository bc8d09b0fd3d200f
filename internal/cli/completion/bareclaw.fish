function __bareclaw_complete
  set -l words (commandline -opc) (commandline -ct)
  bareclaw complete-words -- $words[2..-1] 2>/dev/null
end
complete -c bareclaw -a '(__bareclaw_complete)'
