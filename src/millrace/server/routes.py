"""All routes of the REST API."""

from __future__ import annotations

from millrace.server.api_route import ApiRoute
from millrace.server.resources import (
    accumulators,
    checkpoints,
    cluster,
    configuration,
    exceptions,
    job_history,
    job_plan,
    jobs,
    logs,
    metrics,
    operations,
    programs,
    queryable_state,
    resource_requirements,
    savepoints,
    stacks,
    taskmanagers,
    thread_dumps,
    vertices,
    worker_logs,
    worker_metrics,
)

__all__ = ["ROUTES"]

ROUTES: tuple[ApiRoute, ...] = (
    *cluster.ROUTES,
    *jobs.ROUTES,
    *job_plan.ROUTES,
    *configuration.ROUTES,
    *metrics.ROUTES,
    *vertices.ROUTES,
    *accumulators.ROUTES,
    *checkpoints.ROUTES,
    *exceptions.ROUTES,
    *operations.ROUTES,
    *resource_requirements.ROUTES,
    *programs.ROUTES,
    *job_history.ROUTES,
    *stacks.ROUTES,
    *savepoints.ROUTES,
    *queryable_state.ROUTES,
    *logs.ROUTES,
    *taskmanagers.ROUTES,
    *worker_metrics.ROUTES,
    *worker_logs.ROUTES,
    *thread_dumps.ROUTES,
)
