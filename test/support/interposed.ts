import type { RoomLog, SqliteRoomLog } from "../../rooms/index.ts";

/** The log with some of its methods replaced. */
export function interposed(log: SqliteRoomLog, methods: Partial<RoomLog>): SqliteRoomLog {
  return new Proxy(log, {
    get(target, key) {
      const value: unknown = Reflect.get(Object.hasOwn(methods, key) ? methods : target, key, target);
      return typeof value === "function" ? value.bind(target) : value;
    },
  });
}
