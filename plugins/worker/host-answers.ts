import { RoomtapError } from "../../core/index.ts";
import type { InstanceParts } from "../instance.ts";
import type { GuestThread } from "./guest-thread.ts";
import type { Served } from "./line.ts";
import type { HostSide } from "./messages.ts";
import { present } from "./present.ts";
import { relay, relayedBatch } from "./relay.ts";
import { askRoute } from "./remote-route.ts";
import type { Seats } from "./seats.ts";

/** What the host does for a plugin in a worker when it is asked. */
export function hostAnswers(parts: InstanceParts, seats: Seats, guest: GuestThread): Served<HostSide> {
  return { ...registering(parts, seats, guest), ...serving(parts) };
}

type Registering = "observe" | "addRoute" | "addCommand" | "end";

/** What a guest registers, and undoes. */
function registering(
  { id, services, clock }: InstanceParts,
  seats: Seats,
  guest: GuestThread,
): Pick<Served<HostSide>, Registering> {
  return {
    observe({ registration, position, kinds, options }) {
      const batch = relayedBatch(options);
      const marks = new SharedArrayBuffer(batch);
      seats.take({
        ...{ key: `handler ${position}`, signature: JSON.stringify([kinds, options]) },
        sitter: { guest, registration, marks: new Uint8Array(marks) },
        register: (seat) =>
          services.relay({ kinds, options }, batch, (events) => relay({ seat, options, clock }, events)),
      });
      return { marks };
    },
    addRoute({ registration, ...route }) {
      seats.take({
        ...{ key: `route ${route.method} ${route.path}`, signature: JSON.stringify(route) },
        sitter: { guest, registration, marks: null },
        register: (seat) => services.addRoute({ ...route, handler: (request) => askRoute(id, seat, request) }),
      });
      return undefined;
    },
    addCommand({ registration, ...command }) {
      seats.take({
        ...{ key: `command ${command.name}`, signature: JSON.stringify(command) },
        sitter: { guest, registration, marks: null },
        register: (seat) =>
          services.addCommand({
            ...command,
            async run({ args, caller, signal }) {
              const sitter = present(id, seat);
              const asked = { registration: sitter.registration, args: [...args], caller };
              return sitter.guest.line.call("command", asked, signal);
            },
          }),
      });
      return undefined;
    },
    end: ({ registration }) => seats.end(guest, registration),
  };
}

/** What it asks for and tells. */
function serving({ services, onFault }: InstanceParts): Omit<Served<HostSide>, Registering> {
  const { storage, logger } = services;
  return {
    stats: () => services.stats(),
    rooms: () => services.rooms(),
    // What the plugin's own code said is judged there, as it is for one in the host's thread.
    roomState: ({ roomId }) => services.roomState(roomId as string),
    roomLog: ({ roomId, page }) =>
      services.roomLog(roomId as string, page as Parameters<InstanceParts["services"]["roomLog"]>[1]),
    openRequests: () => services.openRequests(),
    answer: ({ id: request, answer }) =>
      services.answer(request as string, answer as Parameters<InstanceParts["services"]["answer"]>[1]),
    async getValue({ key }) {
      const value = await storage.get(key);
      return value === undefined ? undefined : JSON.stringify(value);
    },
    async setValue({ key, value }) {
      await storage.set(key, parsed(value));
      return undefined;
    },
    deleteValue: ({ key }) => storage.delete(key),
    keys: ({ prefix }) => storage.keys(prefix),
    log: ({ level, message, fields }) => logger[level](message, fields),
    fault({ message, stack }) {
      const cause = new Error(message);
      if (stack !== undefined) cause.stack = stack;
      onFault(message, cause);
    },
  };
}

/** @throws RoomtapError `invalid_params` */
function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (fault) {
    throw new RoomtapError("invalid_params", "storage: expected JSON", { cause: fault });
  }
}
