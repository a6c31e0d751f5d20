"""Many machines: a node joins a cluster and runs its roles; nothing else."""
