/** Lets a person or another program do the tasks, through a socket and the command `tools.mjs`. */
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { copyFileSync, mkdirSync, writeFileSync } from 'node:fs';
import { createServer, type Socket } from 'node:net';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { createDeferred } from '../../src/core/base/deferred.ts';
import { messageOf } from '../../src/core/base/errors.ts';
import type { Agent, GivenTask } from './run.ts';
import type { ToolCall } from './toolset.ts';

export interface ManualDesk {
  readonly agent: Agent;
  /** The command, without its arguments. */
  readonly command: readonly string[];
  close(): Promise<void>;
}

/** What `tools.mjs` sends: one line of JSON per connection. */
type DeskRequest =
  | { readonly type: 'list' | 'task' }
  | { readonly type: 'turn'; readonly calls: readonly ToolCall[] }
  | { readonly type: 'finish'; readonly answer: string };

interface OpenTask {
  readonly given: GivenTask;
  /** Whether the time of the task runs. */
  isShown: boolean;
  readonly finish: (answer: string) => void;
}

/** Opens the socket, and puts the command into a folder that contains nothing else of the evaluation. */
export async function openDesk(root: string): Promise<ManualDesk> {
  const folder = join(root, 'agent');
  mkdirSync(folder);
  const command = join(folder, 'tools.mjs');
  copyFileSync(join(import.meta.dirname, 'tools.mjs'), command);
  const address = process.platform === 'win32' ? `\\\\.\\pipe\\eval-${randomUUID()}` : join(folder, 'socket');
  writeFileSync(join(folder, 'address'), address);
  let openTask = createDeferred<OpenTask>();
  const ended = createDeferred<undefined>();
  const server = createServer((socket) => {
    void serve(socket, async (request) => {
      const current = await Promise.race([openTask.promise, ended.promise]);
      return current === undefined ? { message: 'All tasks are done.' } : answerTo(request, current);
    });
  });
  server.listen(address);
  await once(server, 'listening');
  return {
    command: [process.execPath, command],
    async agent(given) {
      // The time of the task begins when its servers have started, as in a client.
      await given.definitions();
      const finished = createDeferred<string>();
      openTask.resolve({ given, isShown: false, finish: finished.resolve });
      const answer = await finished.promise;
      openTask = createDeferred<OpenTask>();
      return answer;
    },
    async close() {
      ended.resolve(undefined);
      server.close();
      await once(server, 'close');
    },
  };
}

async function serve(socket: Socket, answer: (request: DeskRequest) => Promise<unknown>): Promise<void> {
  // The command was interrupted before it had its answer.
  socket.on('error', () => undefined);
  try {
    const [line] = (await once(createInterface({ input: socket }), 'line')) as [string];
    const request = JSON.parse(line) as DeskRequest;
    socket.end(JSON.stringify(await answer(request)));
  } catch (error) {
    // A request that is not valid must not end the evaluation.
    socket.end(JSON.stringify({ message: messageOf(error) }));
  }
}

async function answerTo(request: DeskRequest, open: OpenTask): Promise<unknown> {
  const { finish, given } = open;
  switch (request.type) {
    case 'task':
      if (!open.isShown) {
        open.isShown = true;
        given.transcript.start(Date.now());
      }
      return { message: given.prompt };
    case 'list':
      return given.definitions();
    case 'turn': {
      const answers = await Promise.all(request.calls.map(given.call));
      return { answers: answers.map((answer, index) => ({ ...answer, name: request.calls[index]?.name })) };
    }
    case 'finish':
      // An agent that tries the command to see its usage has not answered.
      if (request.answer.trim() === '') {
        return { message: 'The task goes on, because the answer is empty. Use: finish ANSWER' };
      }
      finish(request.answer);
      return {
        message:
          given.left === 0
            ? 'Noted. This was the last task.'
            : `Noted. ${given.left} more, each like a new conversation, with servers and sessions of its own: see "task".`,
      };
  }
}
