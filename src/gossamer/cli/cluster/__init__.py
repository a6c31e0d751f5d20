"""`gossamer cluster`: commands on a cluster of many machines, by its address."""
