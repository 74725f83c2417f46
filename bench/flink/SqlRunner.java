import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import org.apache.flink.configuration.CheckpointingOptions;
import org.apache.flink.configuration.Configuration;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;
import org.apache.flink.table.api.TableResult;
import org.apache.flink.table.api.bridge.java.StreamTableEnvironment;
import org.apache.flink.types.Row;
import org.apache.flink.util.CloseableIterator;

/**
 * Runs scripts of Flink SQL in one JVM, on a local cluster of two slots, one after the other as they are asked
 * for: a line of standard input names a script, a file for the rows of a last SELECT (or "-") and a folder for
 * checkpoints (or "-"). The answer is a line with the seconds that the job ran, without its submission.
 */
public final class SqlRunner {
    public static void main(String[] arguments) throws Exception {
        BufferedReader asked = new BufferedReader(new InputStreamReader(System.in));
        for (String line = asked.readLine(); line != null; line = asked.readLine()) {
            String[] parts = line.split("\t");
            System.out.println("seconds " + run(Path.of(parts[0]), parts[1], parts[2]));
        }
    }

    private static double run(Path script, String rows, String checkpoints) throws Exception {
        StreamTableEnvironment tables = environment(checkpoints);
        TableResult last = null;
        for (String statement : Files.readString(script).split(";\n")) {
            last = tables.executeSql(statement);
        }
        if (!rows.equals("-")) {
            write(last, Path.of(rows));
        }
        return last.getJobClient().get().getJobExecutionResult().get().getNetRuntime() / 1000.0;
    }

    private static StreamTableEnvironment environment(String checkpoints) {
        Configuration settings = new Configuration();
        if (!checkpoints.equals("-")) {
            settings.set(CheckpointingOptions.CHECKPOINTING_INTERVAL, Duration.ofMillis(200));
            settings.set(CheckpointingOptions.CHECKPOINT_STORAGE, "filesystem");
            settings.set(CheckpointingOptions.CHECKPOINTS_DIRECTORY, "file://" + checkpoints);
            settings.set(CheckpointingOptions.MAX_RETAINED_CHECKPOINTS, 1000);
            settings.setString("execution.checkpointing.externalized-checkpoint-retention", "RETAIN_ON_CANCELLATION");
        }
        StreamExecutionEnvironment streams = StreamExecutionEnvironment.getExecutionEnvironment(settings);
        streams.setParallelism(2);
        StreamTableEnvironment tables = StreamTableEnvironment.create(streams);
        tables.getConfig().set("table.local-time-zone", "UTC");
        return tables;
    }

    private static void write(TableResult result, Path file) throws Exception {
        try (PrintWriter out = new PrintWriter(Files.newBufferedWriter(file));
                CloseableIterator<Row> rows = result.collect()) {
            while (rows.hasNext()) {
                Row row = rows.next();
                StringBuilder line = new StringBuilder();
                for (int k = 0; k < row.getArity(); k++) {
                    line.append(k == 0 ? "" : "\t").append(row.getField(k));
                }
                out.println(line);
            }
        }
    }
}
