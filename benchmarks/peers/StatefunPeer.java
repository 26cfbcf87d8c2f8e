import com.google.protobuf.ByteString;
import java.net.URI;
import org.apache.flink.statefun.flink.core.StatefulFunctionsConfig;
import org.apache.flink.statefun.flink.core.message.MessageFactoryType;
import org.apache.flink.statefun.flink.core.message.RoutableMessage;
import org.apache.flink.statefun.flink.core.message.RoutableMessageBuilder;
import org.apache.flink.statefun.flink.datastream.StatefulFunctionBuilder;
import org.apache.flink.statefun.flink.datastream.StatefulFunctionDataStreamBuilder;
import org.apache.flink.statefun.sdk.FunctionType;
import org.apache.flink.statefun.sdk.io.EgressIdentifier;
import org.apache.flink.statefun.sdk.reqreply.generated.TypedValue;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;
import org.apache.flink.streaming.api.functions.sink.DiscardingSink;
import org.apache.flink.streaming.api.functions.source.SourceFunction;

/**
 * The job of statefun_counts.py on Stateful Functions' own runtime, in one JVM: messages go round
 * among the remote functions bench/counter. It runs until it is killed, because the runtime drops
 * what is in its loop when its input ends.
 *
 * <p>Arguments: URL, messages, addresses, rounds, most messages of a request, transport (async or
 * okhttp), URI of a directory for checkpoints.
 */
public final class StatefunPeer {
  private static final FunctionType COUNTER = new FunctionType("bench", "counter");
  private static final EgressIdentifier<TypedValue> DELAYS =
      new EgressIdentifier<>("bench", "delays", TypedValue.class);

  public static void main(String[] args) throws Exception {
    StreamExecutionEnvironment env = StreamExecutionEnvironment.getExecutionEnvironment();
    env.setParallelism(2);
    env.enableCheckpointing(1000);
    env.getCheckpointConfig().setCheckpointStorage(args[6]);
    StatefulFunctionsConfig config = StatefulFunctionsConfig.fromEnvironment(env);
    config.setFactoryType(MessageFactoryType.WITH_PROTOBUF_PAYLOADS);
    Messages messages =
        new Messages(Long.parseLong(args[1]), Long.parseLong(args[2]), Integer.parseInt(args[3]));
    StatefulFunctionDataStreamBuilder.builder("counts")
        .withDataStreamAsIngress(env.addSource(messages))
        .withRequestReplyRemoteFunction(
            functions(URI.create(args[0]), Integer.parseInt(args[4]), args[5].equals("async")))
        .withEgressId(DELAYS)
        .withConfiguration(config)
        .build(env)
        .getDataStreamForEgressId(DELAYS)
        .addSink(new DiscardingSink<>());
    env.execute("counts");
  }

  private static StatefulFunctionBuilder functions(URI url, int batch, boolean isAsync) {
    if (isAsync) {
      return StatefulFunctionBuilder.asyncRequestReplyFunctionBuilder(COUNTER, url)
          .withMaxNumBatchRequests(batch);
    }
    return StatefulFunctionBuilder.requestReplyFunctionBuilder(COUNTER, url)
        .withMaxNumBatchRequests(batch);
  }

  /** Messages of the ingress, each with the number of rounds that it still has to go. */
  private static final class Messages implements SourceFunction<RoutableMessage> {
    private final long count;
    private final long addresses;
    private final int rounds;
    private volatile boolean isCancelled = false;

    Messages(long count, long addresses, int rounds) {
      this.count = count;
      this.addresses = addresses;
      this.rounds = rounds;
    }

    @Override
    public void run(SourceContext<RoutableMessage> context) throws InterruptedException {
      TypedValue body = number(rounds - 1);
      for (long n = 0; n < count && !isCancelled; n++) {
        context.collect(
            RoutableMessageBuilder.builder()
                .withTargetAddress(COUNTER, Long.toString(n % addresses))
                .withMessageBody(body)
                .build());
      }
      while (!isCancelled) {
        Thread.sleep(100);
      }
    }

    @Override
    public void cancel() {
      isCancelled = true;
    }
  }

  /** A value of the type int above 0: its message has one field, which is a sfixed32. */
  private static TypedValue number(int value) {
    byte[] bytes = {
      0x0d, (byte) value, (byte) (value >> 8), (byte) (value >> 16), (byte) (value >> 24)
    };
    return TypedValue.newBuilder()
        .setTypename("io.statefun.types/int")
        .setHasValue(true)
        .setValue(ByteString.copyFrom(bytes))
        .build();
  }
}
