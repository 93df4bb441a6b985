/**
 * Connections of a server that strangers can reach, on loopback too, where every account of the machine can connect. One that has shown
 * no token gives way to a new one, so that idle ones keep nobody out; one that has keeps its place as long as it is in use.
 */
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

export interface ConnectionLimits {
  readonly maxConnections: number;
  /** Of them, those without a token. */
  readonly maxStrangers: number;
}

interface Connection {
  /** The address of a stranger, or the name of whoever has shown a token. */
  group: string;
  /** Requests that are not answered. */
  open: number;
}

/** By group, in the order in which they came. */
type Groups = Map<string, Set<Socket>>;

export class Connections {
  readonly #limits: ConnectionLimits;
  readonly #onClosed: () => void;
  readonly #known = new Map<Socket, Connection>();
  readonly #strangers: Groups = new Map();
  readonly #owned: Groups = new Map();

  /** @param onClosed called for each connection that gives way. */
  constructor(limits: ConnectionLimits, onClosed: () => void = () => undefined) {
    this.#limits = limits;
    this.#onClosed = onClosed;
  }

  /** Follows the connections of a server. */
  watch(server: Server): void {
    server.on('connection', (socket: Socket) => this.#add(socket));
    server.on('request', (request: IncomingMessage, response: ServerResponse) => this.#count(request.socket, response));
  }

  get size(): number {
    return this.#known.size;
  }

  /** The connection has shown a token of `owner`. */
  own(socket: Socket, owner: string): void {
    const connection = this.#known.get(socket);
    if (connection !== undefined && remove(this.#strangers, connection.group, socket)) {
      connection.group = owner;
      add(this.#owned, owner, socket);
    }
  }

  #add(socket: Socket): void {
    const group = socket.remoteAddress ?? '';
    this.#known.set(socket, { group, open: 0 });
    add(this.#strangers, group, socket);
    socket.once('close', () => this.#forget(socket));
    const { maxConnections, maxStrangers } = this.#limits;
    if (sizeOf(this.#strangers) > maxStrangers) {
      this.#close(this.#idleOf(this.#strangers, socket) ?? oldestOf(this.#strangers) ?? socket);
    }
    if (this.#known.size > maxConnections) {
      this.#close(this.#idleOf(this.#owned, socket) ?? this.#idleOf(this.#strangers, socket) ?? socket);
    }
  }

  /** The oldest connection of the largest group that waits for no answer. */
  #idleOf(groups: Groups, except: Socket): Socket | undefined {
    for (const sockets of largestFirst(groups)) {
      for (const socket of sockets) {
        if (socket !== except && this.#known.get(socket)?.open === 0) {
          return socket;
        }
      }
    }
    return undefined;
  }

  #count(socket: Socket, response: ServerResponse): void {
    const connection = this.#known.get(socket);
    if (connection !== undefined) {
      connection.open += 1;
      response.once('close', () => {
        connection.open -= 1;
      });
    }
  }

  #close(socket: Socket): void {
    this.#forget(socket);
    socket.destroy();
    this.#onClosed();
  }

  #forget(socket: Socket): void {
    const group = this.#known.get(socket)?.group ?? '';
    this.#known.delete(socket);
    remove(this.#strangers, group, socket);
    remove(this.#owned, group, socket);
  }
}

function largestFirst(groups: Groups): Set<Socket>[] {
  return [...groups.values()].toSorted((a, b) => b.size - a.size);
}

function oldestOf(groups: Groups): Socket | undefined {
  const [largest] = largestFirst(groups);
  return largest?.values().next().value;
}

function add(groups: Groups, group: string, socket: Socket): void {
  groups.set(group, (groups.get(group) ?? new Set()).add(socket));
}

function remove(groups: Groups, group: string, socket: Socket): boolean {
  const sockets = groups.get(group);
  const isThere = sockets?.delete(socket) === true;
  if (sockets?.size === 0) {
    groups.delete(group);
  }
  return isThere;
}

function sizeOf(groups: Groups): number {
  let size = 0;
  for (const sockets of groups.values()) {
    size += sockets.size;
  }
  return size;
}
