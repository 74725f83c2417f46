"""What tests share: rows, queries, jobs, and programs that tests start and kill."""
