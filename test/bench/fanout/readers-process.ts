/** The process that holds the clients of the bench, so that they do not share the servers' loop. */
import type { News, Order } from "./messages.ts";
import { Reader } from "./reader.ts";

interface Group {
  readonly readers: Reader[];
  step: number;
  total: number;
}

const groups = new Map<string, Group>();

function tell(news: News): void {
  process.send?.(news);
}

function count(name: string, group: Group): void {
  if (++group.total % group.step !== 0) return;
  const each = group.readers.map(({ received }) => received);
  tell({ news: "received", group: name, total: group.total, least: Math.min(...each), most: Math.max(...each) });
}

async function open({ group: name, dialect, port, count: size }: Extract<Order, { order: "open" }>): Promise<void> {
  const group: Group = { readers: [], step: Infinity, total: 0 };
  groups.set(name, group);
  for (let k = 0; k < size; k++) {
    const reader = new Reader(dialect, port, {
      onMessage: () => count(name, group),
      onClose: (code) => tell({ news: "closed", group: name, code }),
    });
    group.readers.push(reader);
    await reader.opened;
  }
  tell({ news: "opened", group: name });
}

process.on("message", (order: Order) => {
  if (order.order === "open") {
    void open(order);
    return;
  }
  const group = groups.get(order.group);
  if (group === undefined) return;
  if (order.order === "count") group.step = order.step;
  else for (const reader of group.readers) reader[order.order]();
});
process.on("disconnect", () => process.exit());
