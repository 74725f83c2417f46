import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintWriter;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import org.apache.flink.api.common.ExecutionConfig;
import org.apache.flink.api.common.eventtime.WatermarkStrategy;
import org.apache.flink.api.common.functions.AggregateFunction;
import org.apache.flink.api.common.typeinfo.Types;
import org.apache.flink.api.common.typeutils.TypeSerializer;
import org.apache.flink.api.java.tuple.Tuple2;
import org.apache.flink.api.java.tuple.Tuple4;
import org.apache.flink.connector.datagen.source.DataGeneratorSource;
import org.apache.flink.streaming.api.datastream.DataStream;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;
import org.apache.flink.streaming.api.functions.sink.v2.DiscardingSink;
import org.apache.flink.streaming.api.functions.windowing.ProcessWindowFunction;
import org.apache.flink.streaming.api.windowing.assigners.WindowAssigner;
import org.apache.flink.streaming.api.windowing.triggers.EventTimeTrigger;
import org.apache.flink.streaming.api.windowing.triggers.Trigger;
import org.apache.flink.streaming.api.windowing.windows.TimeWindow;
import org.apache.flink.util.CloseableIterator;
import org.apache.flink.util.Collector;

/**
 * Sum and maximum over many tumbling windows at once in Flink's window operator, which keeps a bucket per window:
 * one operator assigns each row to its window of every length. A line of standard input names a file of rows (all
 * times in milliseconds, then all values), the lengths with commas between, the milliseconds by which rows may be
 * late, and a file for results (or "-"). The answer is a line with the seconds that the job ran.
 */
public final class Buckets {
    private static long[] times;
    private static double[] values;

    public static void main(String[] arguments) throws Exception {
        BufferedReader asked = new BufferedReader(new InputStreamReader(System.in));
        for (String line = asked.readLine(); line != null; line = asked.readLine()) {
            String[] parts = line.split("\t");
            read(Path.of(parts[0]));
            List<Long> lengths = new ArrayList<>();
            for (String length : parts[1].split(",")) {
                lengths.add(Long.parseLong(length));
            }
            System.out.println("seconds " + run(lengths, Long.parseLong(parts[2]), parts[3]));
        }
    }

    private static void read(Path file) throws Exception {
        ByteBuffer bytes = ByteBuffer.wrap(Files.readAllBytes(file)).order(ByteOrder.LITTLE_ENDIAN);
        int rows = bytes.remaining() / 16;
        times = new long[rows];
        values = new double[rows];
        bytes.asLongBuffer().get(times);
        bytes.position(8 * rows);
        bytes.asDoubleBuffer().get(values);
    }

    private static double run(List<Long> lengths, long delay, String results) throws Exception {
        StreamExecutionEnvironment environment = StreamExecutionEnvironment.getExecutionEnvironment();
        environment.setParallelism(1);
        environment.getConfig().enableObjectReuse();
        DataStream<Tuple4<Long, Long, Double, Double>> found = windows(environment, lengths, delay);
        if (!results.equals("-")) {
            write(found, Path.of(results));
            return 0.0;
        }
        found.sinkTo(new DiscardingSink<>());
        return environment.execute().getNetRuntime() / 1000.0;
    }

    private static DataStream<Tuple4<Long, Long, Double, Double>> windows(
            StreamExecutionEnvironment environment, List<Long> lengths, long delay) {
        DataGeneratorSource<Tuple2<Long, Double>> source = new DataGeneratorSource<>(
                place -> Tuple2.of(times[place.intValue()], values[place.intValue()]),
                times.length,
                Types.TUPLE(Types.LONG, Types.DOUBLE));
        // Flink's watermark is a millisecond below what a row may be late by
        WatermarkStrategy<Tuple2<Long, Double>> watermarks = WatermarkStrategy
                .<Tuple2<Long, Double>>forBoundedOutOfOrderness(Duration.ofMillis(delay))
                .withTimestampAssigner((row, before) -> row.f0);
        return environment.fromSource(source, watermarks, "rows")
                .keyBy(row -> 0, Types.INT)
                .window(new ManyLengths(lengths))
                .aggregate(new SumAndMax(), new WithWindow(),
                        Types.TUPLE(Types.DOUBLE, Types.DOUBLE), Types.TUPLE(Types.DOUBLE, Types.DOUBLE),
                        Types.TUPLE(Types.LONG, Types.LONG, Types.DOUBLE, Types.DOUBLE));
    }

    private static void write(DataStream<Tuple4<Long, Long, Double, Double>> found, Path file) throws Exception {
        try (PrintWriter out = new PrintWriter(Files.newBufferedWriter(file));
                CloseableIterator<Tuple4<Long, Long, Double, Double>> rows = found.executeAndCollect()) {
            while (rows.hasNext()) {
                Tuple4<Long, Long, Double, Double> row = rows.next();
                out.println(row.f0 + "\t" + row.f1 + "\t" + row.f2 + "\t" + row.f3);
            }
        }
    }

    /** A tumbling window of each length. */
    private static final class ManyLengths extends WindowAssigner<Object, TimeWindow> {
        private final long[] lengths;

        ManyLengths(List<Long> lengths) {
            this.lengths = lengths.stream().mapToLong(Long::longValue).toArray();
        }

        @Override
        public Collection<TimeWindow> assignWindows(Object row, long time, WindowAssignerContext context) {
            List<TimeWindow> found = new ArrayList<>(lengths.length);
            for (long length : lengths) {
                long start = time - Math.floorMod(time, length);
                found.add(new TimeWindow(start, start + length));
            }
            return found;
        }

        @Override
        @SuppressWarnings({"unchecked", "rawtypes"})
        public Trigger<Object, TimeWindow> getDefaultTrigger() {
            return (Trigger) EventTimeTrigger.create();
        }

        @Override
        public TypeSerializer<TimeWindow> getWindowSerializer(ExecutionConfig config) {
            return new TimeWindow.Serializer();
        }

        @Override
        public boolean isEventTime() {
            return true;
        }
    }

    private static final class SumAndMax
            implements AggregateFunction<Tuple2<Long, Double>, Tuple2<Double, Double>, Tuple2<Double, Double>> {
        @Override
        public Tuple2<Double, Double> createAccumulator() {
            return Tuple2.of(0.0, Double.NEGATIVE_INFINITY);
        }

        @Override
        public Tuple2<Double, Double> add(Tuple2<Long, Double> row, Tuple2<Double, Double> held) {
            held.f0 += row.f1;
            held.f1 = Math.max(held.f1, row.f1);
            return held;
        }

        @Override
        public Tuple2<Double, Double> getResult(Tuple2<Double, Double> held) {
            return held;
        }

        @Override
        public Tuple2<Double, Double> merge(Tuple2<Double, Double> a, Tuple2<Double, Double> b) {
            return Tuple2.of(a.f0 + b.f0, Math.max(a.f1, b.f1));
        }
    }

    private static final class WithWindow
            extends ProcessWindowFunction<Tuple2<Double, Double>, Tuple4<Long, Long, Double, Double>, Integer, TimeWindow> {
        @Override
        public void process(Integer key, Context context, Iterable<Tuple2<Double, Double>> held,
                Collector<Tuple4<Long, Long, Double, Double>> out) {
            Tuple2<Double, Double> one = held.iterator().next();
            out.collect(Tuple4.of(context.window().getStart(), context.window().getEnd(), one.f0, one.f1));
        }
    }
}
