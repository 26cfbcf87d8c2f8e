"""The translation of transformations to a program: chains, stages, levels, uids. Everything is
plain data.
"""
