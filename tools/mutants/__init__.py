"""How good is the judge? It judges mutants of the solutions and counts those that pass. See README.md."""
