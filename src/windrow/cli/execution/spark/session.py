"""The Spark session of a job.

Secrets go to Spark in a file that only its owner can read and that is gone once Spark has started: settings
given otherwise stand in the command line of its JVM, where every user of the machine sees them. In Spark's
own pages and logs they are redacted. What Spark's JVM logs goes to a file, not between the lines of progress.
"""

from __future__ import annotations

import contextlib
import importlib.util
import os
import re
import shutil
import sys
import tempfile
import traceback
import warnings
from collections.abc import Iterator
from typing import TYPE_CHECKING

from windrow.cli.errors import JobError, JobFailed
from windrow.cli.execution.spark.failures import causes
from windrow.cli.execution.spark.packages import check_packages
from windrow.cli.job import Job
from windrow.cli.job.secrets import SECRET_NAMES, Setting, scrubbed
from windrow.packages import how_to_install

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["NO_JAVA", "master_of", "missing", "open_session", "spark_log"]

NO_JAVA = (
    "Spark needs Java 17 or newer, and there is none: install it (Debian, Ubuntu: apt install "
    "openjdk-17-jre-headless; macOS: brew install openjdk@17), or set JAVA_HOME; "
    "--engine local runs jobs on files without it"
)
_LOCAL = {
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.host": "127.0.0.1",
}
#: texts mean what they say: ${env:NAME} in an expression or in the name of a column is not replaced
_LITERAL = {"spark.sql.variable.substitute": "false"}
_ALWAYS = _LITERAL | {
    "spark.sql.session.timeZone": "UTC",
    # instants, as the local engine writes them; INT96 comes back as times without a zone
    "spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS",
    "spark.ui.showConsoleProgress": "false",
    "spark.log.level": "ERROR",
    "spark.sql.streaming.numRecentProgressUpdates": "1000",
}


def spark_log() -> str:
    """Where the JVM of this process logs to."""
    return os.path.join(tempfile.gettempdir(), f"windrow-spark-{os.getpid()}.log")


@contextlib.contextmanager
def open_session(job: Job, verbose: bool = False) -> Iterator[SparkSession]:
    """The running session if there is one, else one of its own that ends with the job."""
    if (why := missing(job)) is not None:
        raise JobError(why)
    from pyspark.sql import SparkSession

    running = SparkSession.getActiveSession()
    if running is not None:
        from windrow.spark import session

        with _whole_errors_in_the_log(job, verbose):
            yield session(_LITERAL | {setting.name: setting.value for setting in job.spark.conf})
        return
    check_packages(job)
    started = _started(job, verbose)
    try:
        with _whole_errors_in_the_log(job, verbose):
            yield started
        _drop_log()  # all went well: nobody needs what the JVM logged
    except JobError:  # the job is wrong, and the error says all of it
        _drop_log()
        raise
    finally:
        with contextlib.suppress(Exception):
            started.stop()


def _drop_log() -> None:
    with contextlib.suppress(OSError):
        os.unlink(spark_log())


@contextlib.contextmanager
def _whole_errors_in_the_log(job: Job, verbose: bool) -> Iterator[None]:
    """A failure becomes one line, which names the file that has all of it, secrets left out."""
    try:
        yield
    except JobFailed as failure:
        if verbose:
            raise
        lines = traceback.format_exception(failure.__cause__ or failure)
        lines += [f"caused by {str(each).strip()}\n" for each in list(causes(failure))[2:]]
        try:
            with os.fdopen(_opened_log(), "w", encoding="utf-8") as file:
                file.write(scrubbed("".join(lines), job.settings))
        except OSError:  # nowhere to write: the line must do
            raise failure from failure.__cause__
        raise JobFailed(f"{failure} (the whole error: {spark_log()})") from failure.__cause__


def _opened_log() -> int:
    return os.open(spark_log(), os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)


def missing(job: Job) -> str | None:
    """What Spark needs and is not there, with the remedy."""
    home = os.environ.get("JAVA_HOME")
    has_java = shutil.which("java") is not None or bool(
        home and os.path.exists(os.path.join(home, "bin", "java"))
    )
    if not has_java and job.spark.has_own_spark:
        return NO_JAVA
    if importlib.util.find_spec("pyspark") is None:
        return f"pyspark is not installed: {how_to_install('spark')}, or use --engine local"
    if job.spark.remote is not None and importlib.util.find_spec("grpc") is None:
        return f"Spark Connect needs grpcio: {how_to_install('connect')}"
    return None


def master_of(job: Job) -> str:
    """Where a job starts Spark, or finds it."""
    return job.spark.remote or job.spark.master or os.environ.get("MASTER") or "local[*]"


def _started(job: Job, verbose: bool) -> SparkSession:
    from windrow.spark import session

    # what pyspark thinks of the installed pandas is nothing that a job could change
    warnings.filterwarnings("ignore", "PySpark does not yet fully support", FutureWarning)
    try:
        if not job.spark.has_own_spark:
            return session(_for_a_server(job), remote=job.spark.remote, app_name=job.spark.app_name)
        master = master_of(job)
        place = {"master" if job.spark.remote is None else "remote": master}
        plain = {s.name: s.value for s in job.spark.conf if not s.is_secret}
        settings = _ALWAYS | (_LOCAL if master.startswith("local") else {}) | _redaction(job) | plain
        with _secrets_in_a_file([s for s in job.spark.conf if s.is_secret]), _quiet(verbose):
            return session(settings, app_name=job.spark.app_name, **place)
    except Exception as error:
        where = "" if verbose or not os.path.exists(spark_log()) else f"; see {spark_log()}"
        raise JobFailed(f"Spark did not start: {str(error).splitlines()[0]}{where}") from error


def _for_a_server(job: Job) -> dict[str, str]:
    """What a session of a server that runs can be given: settings of SQL, and those of the job."""
    own = {n: value for n, value in (_ALWAYS | _redaction(job)).items() if n.startswith("spark.sql.")}
    return own | {s.name: s.value for s in job.spark.conf}


def _redaction(job: Job) -> dict[str, str]:
    """What Spark is to hide: by names, and the options that came from the environment."""
    names = [re.escape(setting.name) for setting in job.settings if setting.from_environment]
    pattern = "|".join([SECRET_NAMES, *names])
    return {"spark.redaction.regex": pattern, "spark.sql.redaction.options.regex": pattern + "|url"}


@contextlib.contextmanager
def _secrets_in_a_file(secrets: list[Setting]) -> Iterator[None]:
    if not secrets:
        yield
        return
    before = os.environ.get("PYSPARK_SUBMIT_ARGS")
    handle, path = tempfile.mkstemp(prefix="windrow-", suffix=".conf")  # readable by its owner alone
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            for secret in secrets:
                file.write(f"{secret.name} {_one_line(secret.value)}\n")
        rest = before or "pyspark-shell"
        os.environ["PYSPARK_SUBMIT_ARGS"] = f"--properties-file {path} --load-spark-defaults {rest}"
        yield
    finally:
        os.unlink(path)
        os.environ.pop("PYSPARK_SUBMIT_ARGS")
        if before is not None:
            os.environ["PYSPARK_SUBMIT_ARGS"] = before


def _one_line(value: str) -> str:
    """As the reader of properties takes it for one value: whatever else ends a line would begin a setting."""
    found = value.replace("\\", "\\\\").replace("\n", "\\n").replace("\r", "\\r").replace("\f", "\\f")
    return re.sub(r"^[ \t]", r"\\\g<0>", found)


@contextlib.contextmanager
def _quiet(verbose: bool) -> Iterator[None]:
    """The JVM inherits the error output of the moment in which it is started."""
    if verbose:
        yield
        return
    sys.stderr.flush()
    kept = os.dup(2)
    log = _opened_log()
    os.dup2(log, 2)
    try:
        yield
    finally:
        os.dup2(kept, 2)
        os.close(kept)
        os.close(log)
