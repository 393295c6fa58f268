"""Trajectories of agents: what was found, when, at what cost, and how much of it the answer uses.

from rageval.trajectories import read_trajectories

agents = read_trajectories("steps.jsonl", "answers.jsonl")
rageval.evaluate("seen_recall@5, kept, cost", agents, "qrels")
"""

from rageval.measures.ranking import Topic
from rageval.measures.trajectory import Trajectory
from rageval.records import Step
from rageval.scoring.trajectories import read_trajectories

__all__ = ["Step", "Topic", "Trajectory", "read_trajectories"]
