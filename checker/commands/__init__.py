"""What the shell's commands do: one function for each verb, from parsed options to an exit code (`checker.commands.codes`)."""
