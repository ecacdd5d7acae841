"""The `tcpdynamics` command: one file a subcommand."""
