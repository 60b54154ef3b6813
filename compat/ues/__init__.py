"""The public name ``ues`` for clients and servers of simulated user environments."""
