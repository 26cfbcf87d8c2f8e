import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import org.apache.flink.statefun.sdk.java.Context;
import org.apache.flink.statefun.sdk.java.StatefulFunction;
import org.apache.flink.statefun.sdk.java.StatefulFunctionSpec;
import org.apache.flink.statefun.sdk.java.StatefulFunctions;
import org.apache.flink.statefun.sdk.java.TypeName;
import org.apache.flink.statefun.sdk.java.ValueSpec;
import org.apache.flink.statefun.sdk.java.handler.RequestReplyHandler;
import org.apache.flink.statefun.sdk.java.message.EgressMessageBuilder;
import org.apache.flink.statefun.sdk.java.message.Message;
import org.apache.flink.statefun.sdk.java.message.MessageBuilder;
import org.apache.flink.statefun.sdk.java.slice.Slice;
import org.apache.flink.statefun.sdk.java.slice.Slices;
import org.apache.flink.statefun.sdk.java.types.SimpleType;
import org.apache.flink.statefun.sdk.java.types.Type;
import org.apache.flink.statefun.sdk.java.types.Types;

/**
 * Functions of the tests, served with the Java SDK of Stateful Functions. They are the same in all
 * languages; README.md beside this directory says what each does.
 */
public final class Functions {
  static final ObjectMapper JSON = new ObjectMapper();
  static final TypeName GREETER = TypeName.typeNameFromString("test/greeter");
  static final TypeName WORKER = TypeName.typeNameFromString("smoke/worker");
  static final TypeName TEST_OUT = TypeName.typeNameFromString("test/out");
  static final TypeName SMOKE_OUT = TypeName.typeNameFromString("smoke/out");
  static final TypeName SMOKE_STATES = TypeName.typeNameFromString("smoke/states");
  static final Type<JsonNode> JSON_VALUE = json("test/json");
  static final Type<JsonNode> COMMAND = json("smoke/command");

  static Type<JsonNode> json(String name) {
    return SimpleType.simpleImmutableTypeFrom(
        TypeName.typeNameFromString(name), JSON::writeValueAsBytes, JSON::readTree);
  }

  static <T> void tell(Context context, TypeName egress, T value, Type<T> type) {
    context.send(EgressMessageBuilder.forEgress(egress).withCustomType(type, value).build());
  }

  static void tell(Context context, TypeName egress, String text) {
    tell(context, egress, text, Types.stringType());
  }

  static String textOf(Optional<?> value) {
    return value.map(Object::toString).orElse("None");
  }

  /** Counts, and tells the egress. */
  static final class Greeter implements StatefulFunction {
    static final ValueSpec<Integer> SEEN = ValueSpec.named("seen").withIntType();
    static final ValueSpec<String> LAST = ValueSpec.named("last").withUtf8StringType();

    @Override
    public CompletableFuture<Void> apply(Context context, Message message) {
      var storage = context.storage();
      int seen = storage.get(SEEN).orElse(0) + 1;
      String before = textOf(storage.get(LAST));
      String text = message.asUtf8String();
      storage.set(SEEN, seen);
      storage.set(LAST, text);
      String caller = context.caller().map(address -> address.id()).orElse("-");
      String id = context.self().id();
      tell(context, TEST_OUT, String.join(" ", id, text, "" + seen, before, caller));
      return context.done();
    }
  }

  static Message toGreeter(String id, String text) {
    return MessageBuilder.forAddress(GREETER, id).withValue(text).build();
  }

  /** Sends a text on, from another thread. */
  static CompletableFuture<Void> relay(Context context, Message message) {
    String[] words = message.asUtf8String().split(" ", 2);
    return CompletableFuture.runAsync(() -> context.send(toGreeter(words[0], words[1])));
  }

  /** Sends a text later, or cancels it. */
  static CompletableFuture<Void> alarm(Context context, Message message) {
    String[] words = message.asUtf8String().split(" ", 2);
    if (words[0].equals("cancel")) {
      context.cancelDelayedMessage(words[1]);
    } else {
      Duration delay = Duration.ofMillis(Long.parseLong(words[0]));
      context.sendAfter(delay, words[1], toGreeter(context.self().id(), words[1]));
    }
    return context.done();
  }

  /** Has states with a time to live. */
  static final class Short implements StatefulFunction {
    static final ValueSpec<Integer> WRITTEN =
        ValueSpec.named("written").thatExpireAfterWrite(Duration.ofSeconds(10)).withIntType();
    static final ValueSpec<Integer> CALLED =
        ValueSpec.named("called").thatExpiresAfterCall(Duration.ofSeconds(10)).withIntType();

    @Override
    public CompletableFuture<Void> apply(Context context, Message message) {
      var storage = context.storage();
      String text = message.asUtf8String();
      if (text.equals("write")) {
        storage.set(WRITTEN, storage.get(WRITTEN).orElse(0) + 1);
        storage.set(CALLED, storage.get(CALLED).orElse(0) + 1);
      } else if (!text.equals("read")) {
        String[] words = text.split(" ", 2);
        Message later = MessageBuilder.forAddress(context.self()).withValue(words[1]).build();
        context.sendAfter(Duration.ofMillis(Long.parseLong(words[0])), later);
        return context.done();
      }
      String states = textOf(storage.get(WRITTEN)) + " " + textOf(storage.get(CALLED));
      tell(context, TEST_OUT, text + " " + states);
      return context.done();
    }
  }

  /** A type with the state that keeps its last value. */
  static final class Kind<T> {
    final Type<T> type;
    final ValueSpec<T> spec;

    Kind(String name, Type<T> type) {
      this.type = type;
      this.spec = ValueSpec.named(name).withCustomType(type);
    }

    void keep(Context context, Message message) {
      if (!message.is(type)) {
        return;
      }
      T value = message.as(type);
      context.storage().get(spec).ifPresent(former -> tell(context, TEST_OUT, former, type));
      if (value.equals("forget")) {
        KINDS.forEach(kind -> context.storage().remove(kind.spec));
      } else {
        context.storage().set(spec, value);
        tell(context, TEST_OUT, value, type);
      }
    }
  }

  static final List<Kind<?>> KINDS =
      List.of(
          new Kind<>("bool", Types.booleanType()),
          new Kind<>("int", Types.integerType()),
          new Kind<>("long", Types.longType()),
          new Kind<>("float", Types.floatType()),
          new Kind<>("double", Types.doubleType()),
          new Kind<>("string", Types.stringType()),
          new Kind<>("json", JSON_VALUE));

  static CompletableFuture<Void> types(Context context, Message message) {
    KINDS.forEach(kind -> kind.keep(context, message));
    return context.done();
  }

  /** The worker of the smoke test. */
  static final class Worker implements StatefulFunction {
    static final ValueSpec<Long> COUNT = ValueSpec.named("count").withLongType();
    static final ValueSpec<Integer> SEEN = ValueSpec.named("seen").withIntType();
    static final ValueSpec<Integer> LAST = ValueSpec.named("last").withIntType();

    @Override
    public CompletableFuture<Void> apply(Context context, Message message) {
      var storage = context.storage();
      JsonNode command = message.as(COMMAND);
      storage.set(SEEN, storage.get(SEEN).orElse(0) + 1);
      if (command.has("n")) {
        int number = command.get("n").asInt();
        int last = storage.get(LAST).orElse(0);
        if (number != last + 1) {
          String id = context.self().id();
          tell(context, SMOKE_OUT, "disorder " + id + " " + last + " " + number);
        }
        storage.set(LAST, number);
      }
      return carryOut(context, command.get("steps"), 0);
    }

    /** The steps from a place on, one after the other. */
    CompletableFuture<Void> carryOut(Context context, JsonNode steps, int first) {
      for (int place = first; place < steps.size(); place++) {
        JsonNode step = steps.get(place);
        if (step.get("do").asText().equals("wait")) {
          int next = place + 1;
          var pause =
              CompletableFuture.delayedExecutor(step.get("ms").asLong(), TimeUnit.MILLISECONDS);
          return CompletableFuture.runAsync(() -> {}, pause)
              .thenCompose(ignored -> carryOut(context, step.get("steps"), 0))
              .thenCompose(ignored -> carryOut(context, steps, next));
        }
        carryOut(context, step);
      }
      return context.done();
    }

    void carryOut(Context context, JsonNode step) {
      var storage = context.storage();
      switch (step.get("do").asText()) {
        case "add":
          storage.set(COUNT, storage.get(COUNT).orElse(0L) + step.get("by").asLong());
          break;
        case "send":
          context.send(toWorker(step.get("to").asText(), step));
          break;
        case "reply":
          context.caller().ifPresent(caller -> context.send(toWorker(caller.id(), step)));
          break;
        case "later":
          Duration delay = Duration.ofMillis(step.get("after").asLong());
          Message later = toWorker(step.get("to").asText(), step);
          if (step.has("token")) {
            context.sendAfter(delay, step.get("token").asText(), later);
          } else {
            context.sendAfter(delay, later);
          }
          break;
        case "cancel":
          context.cancelDelayedMessage(step.get("token").asText());
          break;
        case "tell":
          tell(context, SMOKE_OUT, step.get("text").asText());
          break;
        case "report":
          String numbers =
              storage.get(COUNT).orElse(0L)
                  + (" " + storage.get(SEEN).orElse(0))
                  + (" " + storage.get(LAST).orElse(0));
          tell(context, SMOKE_STATES, context.self().id() + " " + numbers);
          break;
        default:
          throw new IllegalArgumentException("unknown step " + step);
      }
    }

    static Message toWorker(String id, JsonNode step) {
      ObjectNode command = JSON.createObjectNode();
      command.set("steps", step.get("steps"));
      return MessageBuilder.forAddress(WORKER, id).withCustomType(COMMAND, command).build();
    }
  }

  static StatefulFunctionSpec spec(String name, StatefulFunction function, List<ValueSpec<?>> states) {
    return StatefulFunctionSpec.builder(TypeName.typeNameFromString(name))
        .withValueSpecs(states.toArray(new ValueSpec<?>[0]))
        .withSupplier(() -> function)
        .build();
  }

  static List<ValueSpec<?>> specsOfKinds() {
    return KINDS.stream().<ValueSpec<?>>map(kind -> kind.spec).toList();
  }

  static void answer(RequestReplyHandler handler, HttpExchange exchange) {
    try {
      byte[] request = exchange.getRequestBody().readAllBytes();
      handler
          .handle(Slices.wrap(request))
          .whenComplete((reply, error) -> answer(exchange, reply, error));
    } catch (IOException error) {
      exchange.close();
    }
  }

  static void answer(HttpExchange exchange, Slice reply, Throwable error) {
    try (exchange) {
      if (error != null) {
        error.printStackTrace();
        exchange.sendResponseHeaders(500, -1);
        return;
      }
      byte[] content = reply.toByteArray();
      exchange.getResponseHeaders().set("Content-Type", "application/octet-stream");
      exchange.sendResponseHeaders(200, content.length == 0 ? -1 : content.length);
      exchange.getResponseBody().write(content);
    } catch (IOException closed) {
      throw new UncheckedIOException(closed);
    }
  }

  public static void main(String[] arguments) throws IOException {
    RequestReplyHandler handler =
        new StatefulFunctions()
            .withStatefulFunction(
                spec("test/greeter", new Greeter(), List.of(Greeter.SEEN, Greeter.LAST)))
            .withStatefulFunction(spec("test/relay", Functions::relay, List.of()))
            .withStatefulFunction(spec("test/alarm", Functions::alarm, List.of()))
            .withStatefulFunction(
                spec("test/short", new Short(), List.of(Short.WRITTEN, Short.CALLED)))
            .withStatefulFunction(spec("test/types", Functions::types, specsOfKinds()))
            .withStatefulFunction(
                spec(
                    "smoke/worker",
                    new Worker(),
                    List.of(Worker.COUNT, Worker.SEEN, Worker.LAST)))
            .requestReplyHandler();
    int port = Integer.parseInt(Objects.requireNonNullElse(System.getenv("PORT"), "0"));
    var address = new InetSocketAddress(InetAddress.getByName("127.0.0.1"), port);
    HttpServer server = HttpServer.create(address, 128);
    server.setExecutor(Executors.newFixedThreadPool(8));
    server.createContext("/", exchange -> answer(handler, exchange));
    server.start();
    System.out.println(server.getAddress().getPort());
  }
}
