import { trace } from "@opentelemetry/api";
import {
  BasicTracerProvider,
  InMemorySpanExporter,
  SimpleSpanProcessor,
  type ReadableSpan,
} from "@opentelemetry/sdk-trace-base";
import { onTestFinished } from "vitest";

/** Spans that ended, as a program with a tracer provider of its own gets them. */
export interface Traced {
  readonly spans: () => readonly ReadableSpan[];
  /** The one span of a name. */
  readonly span: (name: string) => ReadableSpan;
}

/** Sets the global tracer provider until the test ends. */
export function openTraces(): Traced {
  const exporter = new InMemorySpanExporter();
  const provider = new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)] });
  trace.setGlobalTracerProvider(provider);
  onTestFinished(async () => {
    trace.disable();
    await provider.shutdown();
  });
  const spans = (): readonly ReadableSpan[] => exporter.getFinishedSpans();
  const span = (name: string): ReadableSpan => {
    const found = spans().filter((each) => each.name === name);
    const [first] = found;
    if (first === undefined || found.length > 1) {
      throw new Error(
        `${found.length} spans ${name} among: ${spans()
          .map((each) => each.name)
          .join(", ")}`,
      );
    }
    return first;
  };
  return { spans, span };
}

/** Wall ms of a span's time. */
export function msOf([seconds, nanos]: readonly [number, number]): number {
  return seconds * 1_000 + nanos / 1_000_000;
}
