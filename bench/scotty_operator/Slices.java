import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintWriter;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import stream.scotty.core.AggregateWindow;
import stream.scotty.core.windowFunction.CommutativeAggregateFunction;
import stream.scotty.core.windowFunction.ReduceAggregateFunction;
import stream.scotty.core.windowType.TumblingWindow;
import stream.scotty.core.windowType.WindowMeasure;
import stream.scotty.slicing.SlicingWindowOperator;
import stream.scotty.state.memory.MemoryStateFactory;

/**
 * Sum and maximum over many tumbling windows at once in Scotty's own operator, which takes rows one by one. A line of
 * standard input names a file of rows (all times in milliseconds, then all values), the lengths with commas between,
 * the milliseconds by which rows may be late, a file for results (or "-"), and the number of rows between two
 * watermarks. The answer is a line with the seconds that it took.
 */
public final class Slices {
    private static long[] times;
    private static double[] values;
    /** What results are added to, so that none is left out as unused. */
    private static double seen;

    public static void main(String[] arguments) throws Exception {
        BufferedReader asked = new BufferedReader(new InputStreamReader(System.in));
        for (String line = asked.readLine(); line != null; line = asked.readLine()) {
            String[] parts = line.split("\t");
            read(Path.of(parts[0]));
            SlicingWindowOperator<Double> operator = operator(parts[1].split(","), Long.parseLong(parts[2]));
            int every = Integer.parseInt(parts[4]);
            if (parts[3].equals("-")) {
                long begun = System.nanoTime();
                run(operator, Long.parseLong(parts[2]), every, null);
                System.out.println("seconds " + (System.nanoTime() - begun) / 1e9);
            } else {
                try (PrintWriter out = new PrintWriter(Files.newBufferedWriter(Path.of(parts[3])))) {
                    run(operator, Long.parseLong(parts[2]), every, out);
                }
                System.out.println("seconds 0");
            }
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

    private static SlicingWindowOperator<Double> operator(String[] lengths, long delay) {
        SlicingWindowOperator<Double> operator = new SlicingWindowOperator<>(new MemoryStateFactory());
        for (String length : lengths) {
            operator.addWindowAssigner(new TumblingWindow(WindowMeasure.Time, Long.parseLong(length)));
        }
        operator.addAggregation(new Sum());
        operator.addAggregation(new Max());
        operator.setMaxLateness(delay);
        operator.processWatermark(0); // windows are looked for from here on
        return operator;
    }

    private static void run(SlicingWindowOperator<Double> operator, long delay, int every, PrintWriter out) {
        long largest = 0;
        for (int row = 0; row < times.length; row++) {
            long time = times[row];
            operator.processElement(values[row], time);
            largest = Math.max(largest, time);
            if ((row + 1) % every == 0 && largest > delay) {
                take(operator.processWatermark(largest - delay), out);
            }
        }
        take(operator.processWatermark(largest + 60_000), out);
    }

    @SuppressWarnings("rawtypes")
    private static void take(List<AggregateWindow> windows, PrintWriter out) {
        for (AggregateWindow window : windows) {
            if (!window.hasValue()) {
                continue;
            }
            List found = window.getAggValues();
            seen += (Double) found.get(0) + (Double) found.get(1);
            if (out != null) {
                out.println(window.getStart() + "\t" + window.getEnd() + "\t" + found.get(0) + "\t" + found.get(1));
            }
        }
    }

    private static final class Sum
            implements ReduceAggregateFunction<Double>, CommutativeAggregateFunction<Double, Double, Double> {
        @Override
        public Double combine(Double a, Double b) {
            return a + b;
        }
    }

    private static final class Max
            implements ReduceAggregateFunction<Double>, CommutativeAggregateFunction<Double, Double, Double> {
        @Override
        public Double combine(Double a, Double b) {
            return Math.max(a, b);
        }
    }
}
