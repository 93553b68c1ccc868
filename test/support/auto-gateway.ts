import type { Json } from "../../plugins/client/index.ts";
import { fakeGateway, type Answers, type FakeGateway } from "./fake-gateway.ts";

/** A server in memory that greets and lets go by itself, for commands that bring their own client. */
export function autoGateway(answers: Answers = {}): FakeGateway {
  const gateway = fakeGateway(answers);
  class Socket extends gateway.WebSocket {
    constructor(url: string, protocols: string[], options: { readonly headers: Readonly<Record<string, string>> }) {
      super(url, protocols, options);
      const { socket } = gateway;
      queueMicrotask(() => socket.ready({ heartbeat: false }));
    }

    override close(code?: number): void {
      super.close(code);
      const { socket } = gateway;
      queueMicrotask(() => socket.end(1000));
    }
  }
  const { sockets } = gateway;
  return {
    sockets,
    answers,
    WebSocket: Socket,
    get socket() {
      return gateway.socket;
    },
  };
}

/** The coordinates of one attempt, for rows and events. */
export const attemptCoordinates: Json = {
  room_id: "r1",
  thread_id: "main",
  member_id: "m-a",
  turn_id: "T1",
  task_id: "k-1",
  execution_generation: 1,
};
