"""Spark Connect: cases of its own, and tests of Spark by what they are about, on one session in a
process of its own. All of them run there with ``make compat``."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from support.processes import environment_without_spark
from support.scopes import OWN_SESSION

HERE = Path(__file__).parent
ROOT = HERE.parents[2]
#: files, and tests of files that would take long as a whole
TESTS = """
session_cases.py
test_asof.py::test_labels_without_a_key_and_of_other_types
test_asof.py::test_names_types_and_times_that_do_not_fit_are_refused
test_chained.py::test_a_second_windrow_query_had_metrics_of_the_same_name_and_a_watermark_of_its_own
test_chained.py::test_a_watermark_after_windrow_gave_no_rows_for_ever
test_chained.py::test_updates_went_into_a_query_in_append_mode
test_chained.py::test_window_after_windrow_gave_no_rows
test_checkpoints.py::test_a_checkpoint_that_is_not_there_or_empty_is_fine
test_cli.py::test_json_has_text_for_nan_and_infinities
test_cli.py::test_what_spark_refuses_is_one_line
test_derived_jobs.py::test_values_of_kafka_become_columns
test_errors.py::test_the_error_reaches_the_driver
test_explain.py
test_explosions.py::test_max_windows_reaches_the_workers
test_expressions.py::test_expressions_give_what_spark_gives
test_first_contact.py
test_float_keys.py::test_spark_itself_has_these_keys
test_guide.py::test_the_plan_in_the_guide_is_what_explain_says
test_history.py::test_what_is_not_a_history
test_nan.py::test_nan_is_a_number_on_spark
test_numbers.py::test_nan_is_true_in_a_share_on_spark
test_plan_time.py::test_building_a_query_starts_no_job
test_plan_time.py::test_building_an_as_of_query_starts_no_job
test_plan_time.py::test_taking_late_and_rejected_rows_apart_starts_no_job
test_plan_time.py::test_jobs_would_be_counted
test_rejected.py::test_rows_that_raise_are_rejected_by_batch_queries
test_result_names.py
test_rolling.py::test_frames_by_time_are_those_of_spark
test_session.py::test_a_running_session_keeps_its_settings
test_session.py::test_a_stream_sets_the_state_store_that_nobody_has_chosen
test_skew.py::test_few_rows_and_none
test_sql.py::test_rolling_by_time
test_streaming.py::test_windows_and_sessions_are_those_of_the_operator
test_streaming.py::test_what_is_wrong_is_said_before_the_stream_starts
test_threads.py::test_a_query_in_a_task_uses_one_thread_unless_it_is_given_a_number
test_types.py::test_keys
test_where.py::test_columns_that_are_not_flags_are_refused_before_a_job_starts
test_windows.py::test_sessions_are_those_of_spark
test_windows.py::test_errors_before_anything_runs
test_worker_python.py::test_a_python_of_another_minor_version_is_named
test_worker_python.py::test_a_python_without_pyarrow_is_named_before_anything_runs
test_worker_python.py::test_a_python_without_windrow_is_named
"""


def test_tests_of_most_files_pass_on_spark_connect() -> None:
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-m", "not compat"]
    command += [str(HERE / test) for test in TESTS.split()]
    environment = environment_without_spark() | {"WINDROW_SESSION": "remote"}
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, env=environment, check=False)
    assert done.returncode == 0, done.stdout[-20_000:]


def test_they_are_of_more_than_half_of_the_files() -> None:
    chosen = {test.partition("::")[0] for test in TESTS.split()}
    files = {path.name for path in HERE.glob("test_*.py")} - OWN_SESSION
    assert len(chosen & files) > len(files) / 2
