"""Runs a kernel on the CPU, one program after another, and records what it touched."""
