"""The job that a command names, with what the command line adds to it."""

from __future__ import annotations

import argparse

from windrow.cli.job import Job, read_job
from windrow.cli.job.secrets import Setting
from windrow.cli.job.spark_conf import given_conf
from windrow.cli.own_monoids import own_monoids
from windrow.cli.show.out import hide

__all__ = ["conf_of", "job_of"]


def job_of(options: argparse.Namespace) -> Job:
    """The job; its secrets are printed nowhere from now on."""
    conf = conf_of(options)
    job = read_job(options.job, own_monoids(options.monoids), conf)
    hide(job.settings)
    return job


def conf_of(options: argparse.Namespace) -> tuple[Setting, ...]:
    """The settings of ``--conf``; secrets among them are printed nowhere from now on."""
    conf = given_conf(options.conf)
    hide(conf)
    return conf
