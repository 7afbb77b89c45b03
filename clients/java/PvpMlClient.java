import java.io.BufferedInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.net.SocketTimeoutException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * Asks a PvP-ML server for decisions: one file, Java 11 or later, no libraries. Copy it into your project.
 *
 * <pre>{@code
 * try (PvpMlClient client = new PvpMlClient("127.0.0.1", 9999, "")) {
 *     PvpMlClient.Answer answer = client.predict(PvpMlClient.request("nh-core", obs, masks));
 *     int[] action = answer.action;
 * }
 * }</pre>
 *
 * Not for several threads at once. A connection that the server closed meanwhile is opened again. From a shell:
 * {@code java PvpMlClient.java HOST PORT MODEL 0.5,1,0 110,11}
 */
public final class PvpMlClient implements AutoCloseable {

    /** The server said no; {@code code} is stable, see docs/protocols.md. */
    public static final class ServerException extends IOException {
        public final String code;

        ServerException(String code, String message) {
            super(code + ": " + message);
            this.code = code;
        }
    }

    /** What the server decided. What was not asked for is null or empty. */
    public static final class Answer {
        public int[] action;
        public Double logProb;
        public double[] entropy;
        public double[] values;
        public double[][] probs;
        public List<Object> extensionResults = new ArrayList<>();
    }

    private static final int MAX_LINE_BYTES = 1 << 20;

    private final String host;
    private final int port;
    private final String token;
    private final int timeoutMs;
    private Socket socket;
    private InputStream input;

    public PvpMlClient(String host, int port, String token) {
        this(host, port, token, 5000);
    }

    public PvpMlClient(String host, int port, String token, int timeoutMs) {
        this.host = host;
        this.port = port;
        this.token = token;
        this.timeoutMs = timeoutMs;
    }

    /** A question: obs[frame][feature], newest frame first; masks[head][choice]. Add flags such as returnProbs to it. */
    public static Map<String, Object> request(String model, double[][] obs, boolean[][] masks) {
        Map<String, Object> request = new LinkedHashMap<>();
        if (model != null && !model.isEmpty()) {
            request.put("model", model);
        }
        request.put("obs", obs);
        request.put("actionMasks", masks);
        return request;
    }

    /** Send a question and wait for its answer. */
    public Answer predict(Map<String, Object> request) throws IOException {
        Map<String, Object> sent = new LinkedHashMap<>(request);
        if (!token.isEmpty()) {
            sent.put("token", token);
        }
        StringBuilder text = new StringBuilder();
        write(text, sent);
        text.append('\n');
        byte[] question = text.toString().getBytes(StandardCharsets.UTF_8);
        boolean isOld = socket != null;
        String line;
        try {
            line = exchange(question);
        } catch (SocketTimeoutException error) {
            close();
            throw error;
        } catch (IOException error) {
            close();
            if (!isOld) {
                throw error;
            }
            line = exchange(question); // closed for idleness, most likely: ask anew
        }
        return toAnswer(new Parser(line).object());
    }

    private String exchange(byte[] question) throws IOException {
        connect();
        socket.getOutputStream().write(question);
        return readLine();
    }

    @Override
    public void close() {
        if (socket != null) {
            try {
                socket.close();
            } catch (IOException ignored) {
                // it is gone either way
            }
            socket = null;
        }
    }

    private void connect() throws IOException {
        if (socket == null) {
            socket = new Socket();
            socket.connect(new InetSocketAddress(host, port), timeoutMs);
            socket.setSoTimeout(timeoutMs);
            socket.setTcpNoDelay(true);
            input = new BufferedInputStream(socket.getInputStream());
        }
    }

    private String readLine() throws IOException {
        ByteArrayOutputStream line = new ByteArrayOutputStream();
        for (int b = input.read(); b != '\n'; b = input.read()) {
            if (b < 0 || line.size() > MAX_LINE_BYTES) {
                throw new IOException("the server hung up");
            }
            line.write(b);
        }
        return line.toString(StandardCharsets.UTF_8);
    }

    @SuppressWarnings("unchecked")
    private static Answer toAnswer(Map<String, Object> reply) throws IOException {
        if (reply.get("error") instanceof Map) {
            Map<String, Object> error = (Map<String, Object>) reply.get("error");
            throw new ServerException(String.valueOf(error.get("code")), String.valueOf(error.get("message")));
        }
        Answer answer = new Answer();
        answer.action = Arrays.stream(doubles(reply.get("action"))).mapToInt(x -> (int) x).toArray();
        answer.logProb = (Double) reply.get("logProb");
        answer.entropy = doubles(reply.get("entropy"));
        answer.values = doubles(reply.get("values"));
        if (reply.get("probs") instanceof List) {
            answer.probs = ((List<Object>) reply.get("probs")).stream().map(PvpMlClient::doubles).toArray(double[][]::new);
        }
        if (reply.get("extensionResults") instanceof List) {
            answer.extensionResults = (List<Object>) reply.get("extensionResults");
        }
        return answer;
    }

    /** A list of numbers, or one number, as an array; null stays null. */
    private static double[] doubles(Object value) {
        if (value instanceof Double) {
            return new double[] {(Double) value};
        }
        return value == null ? null : ((List<?>) value).stream().mapToDouble(x -> (Double) x).toArray();
    }

    private static void write(StringBuilder out, Object value) {
        if (value instanceof Map) {
            String comma = "{";
            for (Map.Entry<?, ?> entry : ((Map<?, ?>) value).entrySet()) {
                out.append(comma);
                quote(out, entry.getKey().toString());
                out.append(':');
                write(out, entry.getValue());
                comma = ",";
            }
            out.append(comma.equals("{") ? "{}" : "}");
        } else if (value instanceof double[][] || value instanceof boolean[][] || value instanceof Object[]) {
            writeAll(out, Arrays.asList((Object[]) value));
        } else if (value instanceof Iterable) {
            writeAll(out, (Iterable<?>) value);
        } else if (value instanceof double[]) {
            List<Object> items = new ArrayList<>();
            for (double x : (double[]) value) {
                items.add(x);
            }
            writeAll(out, items);
        } else if (value instanceof boolean[]) {
            List<Object> items = new ArrayList<>();
            for (boolean x : (boolean[]) value) {
                items.add(x);
            }
            writeAll(out, items);
        } else if (value instanceof String) {
            quote(out, (String) value);
        } else if (value instanceof Double && (((Double) value).isNaN() || ((Double) value).isInfinite())) {
            throw new IllegalArgumentException("observations must be finite, got " + value);
        } else {
            out.append(value);
        }
    }

    private static void writeAll(StringBuilder out, Iterable<?> items) {
        out.append('[');
        String comma = "";
        for (Object item : items) {
            out.append(comma);
            write(out, item);
            comma = ",";
        }
        out.append(']');
    }

    private static void quote(StringBuilder out, String text) {
        out.append('"');
        for (char c : text.toCharArray()) {
            if (c == '"' || c == '\\') {
                out.append('\\').append(c);
            } else if (c < ' ') {
                out.append(String.format("\\u%04x", (int) c));
            } else {
                out.append(c);
            }
        }
        out.append('"');
    }

    /** Just enough JSON to read an answer. */
    private static final class Parser {
        private final String text;
        private int at;

        Parser(String text) {
            this.text = text;
        }

        @SuppressWarnings("unchecked")
        Map<String, Object> object() throws IOException {
            try {
                return (Map<String, Object>) value(0);
            } catch (RuntimeException error) {
                throw new IOException("the server's answer makes no sense", error);
            }
        }

        private Object value(int depth) {
            if (depth > 16) {
                throw new IllegalStateException("nested too deep");
            }
            char c = next();
            if (c == '{') {
                return map(depth);
            } else if (c == '[') {
                return list(depth);
            } else if (c == '"') {
                return string();
            }
            int start = at - 1;
            while (at < text.length() && ",]} \t\r".indexOf(text.charAt(at)) < 0) {
                at++;
            }
            String word = text.substring(start, at);
            switch (word) {
                case "null":
                    return null;
                case "true":
                    return Boolean.TRUE;
                case "false":
                    return Boolean.FALSE;
                default:
                    return Double.valueOf(word);
            }
        }

        private Map<String, Object> map(int depth) {
            Map<String, Object> found = new LinkedHashMap<>();
            for (char c = next(); c != '}'; c = next()) {
                if (c == ',') {
                    c = next();
                }
                expect(c, '"');
                String key = string();
                expect(next(), ':');
                found.put(key, value(depth + 1));
            }
            return found;
        }

        private List<Object> list(int depth) {
            List<Object> found = new ArrayList<>();
            for (char c = next(); c != ']'; c = next()) {
                if (c != ',') {
                    at--;
                }
                found.add(value(depth + 1));
            }
            return found;
        }

        private String string() {
            StringBuilder found = new StringBuilder();
            for (char c = text.charAt(at++); c != '"'; c = text.charAt(at++)) {
                if (c != '\\') {
                    found.append(c);
                    continue;
                }
                char escaped = text.charAt(at++);
                if (escaped == 'u') {
                    found.append((char) Integer.parseInt(text.substring(at, at + 4), 16));
                    at += 4;
                } else {
                    int which = "bfnrt".indexOf(escaped);
                    found.append(which < 0 ? escaped : "\b\f\n\r\t".charAt(which));
                }
            }
            return found.toString();
        }

        private char next() {
            while (" \t\r".indexOf(text.charAt(at)) >= 0) {
                at++;
            }
            return text.charAt(at++);
        }

        private void expect(char found, char wanted) {
            if (found != wanted) {
                throw new IllegalStateException("expected " + wanted + " at " + at);
            }
        }
    }

    /** One question from the command line: HOST PORT MODEL OBS MASKS [TOKEN], such as 0.5,1,0 and 110,11. */
    public static void main(String[] args) throws IOException {
        double[][] obs = {Arrays.stream(args[3].split(",")).mapToDouble(Double::parseDouble).toArray()};
        String[] heads = args[4].split(",");
        boolean[][] masks = new boolean[heads.length][];
        for (int h = 0; h < heads.length; h++) {
            masks[h] = new boolean[heads[h].length()];
            for (int c = 0; c < masks[h].length; c++) {
                masks[h][c] = heads[h].charAt(c) == '1';
            }
        }
        try (PvpMlClient client = new PvpMlClient(args[0], Integer.parseInt(args[1]), args.length > 5 ? args[5] : "")) {
            Map<String, Object> request = request(args[2], obs, masks);
            request.put("deterministic", true);
            request.put("returnProbs", true);
            Answer answer = client.predict(request);
            System.out.println("action " + Arrays.toString(answer.action));
            System.out.println("probs " + Arrays.deepToString(answer.probs));
        } catch (ServerException error) {
            System.out.println("error " + error.code);
        }
    }
}
