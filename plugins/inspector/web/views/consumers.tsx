import { useEffect, useRef, useState } from "preact/hooks";
import uPlot from "uplot";
import "uplot/dist/uPlot.min.css";
import type { ConsumerStats } from "../../../../observers/index.ts";
import type { ConsumerSample, Store } from "../store.ts";
import { countText } from "../words.ts";
import { Empty, Heads, Problem } from "./parts.tsx";

/** Every consumer of the host: what it holds, what it got, what it lost, how long its handler takes. */
export function Consumers({ store }: { readonly store: Store }) {
  useEffect(() => store.pollConsumers(), []);
  const [chosen, setChosen] = useState<string | null>(null);
  const samples = store.consumers.value;
  const consumers = samples.at(-1)?.consumers ?? [];
  const problem = store.consumersProblem.value;
  const id = chosen ?? consumers[0]?.id ?? null;
  return (
    <>
      <h1>Consumers</h1>
      {problem === null ? null : <Problem>They cannot be listed: {problem}. It needs the scope admin.</Problem>}
      {consumers.length === 0 && problem === null ? (
        <Empty title="Nobody listens">
          <p>A plugin's handler is a consumer, and so is each room that a page or a command follows.</p>
        </Empty>
      ) : null}
      {id === null ? null : <Chart samples={samples} id={id} />}
      {consumers.length === 0 ? null : (
        <div class="scroll">
          <table>
            <Heads
              names={["Consumer", "Holds", "Delivered", "Merged", "Dropped", "Gaps", "Failures", "Handler p50 / p99"]}
            />
            <tbody>
              {consumers.map((each) => (
                <ConsumerRow
                  key={each.id}
                  consumer={each}
                  isChosen={each.id === id}
                  onChoose={() => setChosen(each.id)}
                />
              ))}
            </tbody>
          </table>
        </div>
      )}
    </>
  );
}

function ConsumerRow(props: {
  readonly consumer: ConsumerStats;
  readonly isChosen: boolean;
  readonly onChoose: () => void;
}) {
  const { consumer, isChosen, onChoose } = props;
  const { id, depth, bytes, delivered, merged, dropped, dropped_by_kind, gaps, failures, handler_ms, lagging } =
    consumer;
  const kinds = Object.entries(dropped_by_kind).map(([kind, count]) => `${kind} ${countText(count)}`);
  const failed = failures.thrown + failures.rejected + failures.stalled;
  return (
    <tr aria-selected={isChosen}>
      <th scope="row">
        <button type="button" class="quiet" aria-pressed={isChosen} onClick={onChoose}>
          {id}
        </button>
        {lagging ? <span class="lost"> lagging</span> : null}
      </th>
      <td>
        {countText(depth)} ({countText(Math.round(bytes / 1_024))} KiB)
      </td>
      <td>{countText(delivered)}</td>
      <td>{countText(merged)}</td>
      <td class={dropped > 0 ? "lost" : ""} title={kinds.join(", ")}>
        {countText(dropped)} {kinds.length > 0 ? <small>{kinds.join(", ")}</small> : null}
      </td>
      <td>{countText(gaps)}</td>
      <td
        class={failed > 0 ? "lost" : ""}
        title={`${failures.thrown} thrown, ${failures.rejected} rejected, ${failures.stalled} stalled`}
      >
        {countText(failed)}
      </td>
      <td>{handler_ms === null ? "not measured" : `${handler_ms.p50} / ${handler_ms.p99} ms`}</td>
    </tr>
  );
}

/** How deep a consumer's queue was, and how much it got each second. */
function Chart({ samples, id }: { readonly samples: readonly ConsumerSample[]; readonly id: string }) {
  const place = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot | null>(null);
  useEffect(() => {
    if (place.current === null) return;
    const style = getComputedStyle(place.current);
    const colour = (name: string): string => style.getPropertyValue(`--${name}`).trim();
    const axis = { stroke: colour("muted"), grid: { stroke: colour("line"), width: 1 } };
    plot.current = new uPlot(
      {
        width: place.current.clientWidth,
        height: 180,
        legend: { live: false },
        axes: [
          axis,
          { ...axis, label: "held" },
          { ...axis, side: 1, scale: "rate", label: "delivered/s", grid: { show: false } },
        ],
        series: [
          {},
          { label: "held", stroke: colour("warn"), width: 2 },
          { label: "delivered/s", scale: "rate", stroke: colour("running"), width: 2 },
        ],
      },
      dataOf(samples, id),
      place.current,
    );
    const onResize = (): void => plot.current?.setSize({ width: place.current?.clientWidth ?? 300, height: 180 });
    addEventListener("resize", onResize);
    return () => {
      removeEventListener("resize", onResize);
      plot.current?.destroy();
    };
  }, [id]);
  useEffect(() => plot.current?.setData(dataOf(samples, id)), [samples, id]);
  return (
    <div
      ref={place}
      class="chart"
      role="img"
      aria-label={`What ${id} holds and gets over time; the table has the figures.`}
    />
  );
}

function dataOf(samples: readonly ConsumerSample[], id: string): uPlot.AlignedData {
  const of = samples.map(({ consumers }) => consumers.find((each) => each.id === id));
  const rates = of.map((consumer, index) => {
    const [before, seconds] = [of[index - 1], (samples[index]?.at ?? 0) - (samples[index - 1]?.at ?? 0)];
    return consumer === undefined || before === undefined || seconds <= 0
      ? null
      : (consumer.delivered - before.delivered) / seconds;
  });
  return [samples.map(({ at }) => at), of.map((consumer) => consumer?.depth ?? null), rates];
}
