/** What crosses the pipe of a sandbox, and in how many writes. These figures hold on any machine; times do not. */
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { HandleCall } from '../../../src/core/session/dispatch.ts';
import type { Engine } from '../../../src/core/session/engine.ts';
import { createLocalPythonEngine, hasLocalPython } from '../../support/local-python.ts';
import { createHarness, echoCalls, type Harness } from '../../support/session-harness.ts';

const CALLS = 100;

/** An engine that notes every write of the host, and every chunk that the host reads. */
function observed(engine: Engine): { engine: Engine; writes: string[]; reads: string[] } {
  const writes: string[] = [];
  const reads: string[] = [];
  const start: Engine['start'] = async (options) => {
    const sandbox = await engine.start(options);
    const write = sandbox.stdin.write.bind(sandbox.stdin) as (data: string | Buffer) => boolean;
    sandbox.stdin.write = (data: string | Buffer) => {
      writes.push(data.toString());
      return write(data);
    };
    sandbox.stdout.on('data', (chunk: Buffer) => reads.push(chunk.toString()));
    return sandbox;
  };
  return { engine: { ...engine, start }, writes, reads };
}

/** Calls with a number are answered when all have arrived: none of their answers comes while they are made. */
function createTools(): HandleCall {
  let answerAll = (): void => undefined;
  const allArrived = new Promise<void>((resolve) => {
    answerAll = resolve;
  });
  let arrived = 0;
  return async (call, context) => {
    const given = call.params['arguments'] as { readonly number?: number } | undefined;
    if (given?.number !== undefined) {
      arrived += 1;
      if (arrived === CALLS) {
        answerAll();
      }
      await allArrived;
    }
    return echoCalls(call, context);
  };
}

describe.skipIf(!hasLocalPython())('the pipe of a sandbox', () => {
  const { engine, writes, reads } = observed(createLocalPythonEngine());
  let harness: Harness;

  beforeAll(async () => {
    harness = await createHarness({ engine, handleCall: createTools() });
    // So that names and specs are known.
    await harness.run('import asyncio\nx = 1');
    await harness.run('await mcp_fake.echo(text="warm")');
  });
  beforeEach(() => {
    writes.length = 0;
    reads.length = 0;
  });
  afterAll(() => harness.close());

  it('carries two lines for a warm cell, one in each direction', async () => {
    await harness.run('x=1');
    expect(writes).toEqual(['{"type":"execute","cell":3,"code":"x=1","servers":[{"name":"fake","alias":"fake"}]}\n']);
    expect(reads.join('')).toBe('{"type":"result","cell":3,"outcome":"ok"}\n');
  });

  it('carries two lines for a call', async () => {
    await harness.run('await mcp_fake.echo(text="x")\nNone');
    const params = '{"server":"fake","tool":"echo","arguments":{"text":"x"},"line":1}';
    const sent = reads
      .join('')
      .split('\n')
      .filter((line) => line.includes('"type":"call"'));
    expect(sent.map((line) => line.replace(/"call":\d+/, '"call":0'))).toContain(
      `{"type":"call","call":0,"method":"call_tool","params":${params}}`,
    );
    const answers = writes
      .join('')
      .split('\n')
      .filter((line) => line.includes('"text":"x"}}'));
    expect(answers.map((line) => line.replace(/"call":\d+/, '"call":0'))).toEqual([
      '{"type":"answer","call":0,"ok":true,"value":{"content":[],"structuredContent":{"text":"x"}}}',
    ]);
  });

  it(`carries ${CALLS} concurrent calls in two writes, and their answers in one`, async () => {
    const code = `
answers = await asyncio.gather(*(mcp_fake.echo(number=n) for n in range(${CALLS})))
[answer.number for answer in answers] == list(range(${CALLS}))`;
    expect((await harness.run(code)).value).toBe('True');
    expect(writes.filter((data) => data.includes('"type":"answer","call"') && data.includes('"number"'))).toHaveLength(
      1,
    );
    // A pipe may join writes, but divides none of these.
    expect(reads.filter((data) => data.includes('"number"')).length).toBeLessThanOrEqual(2);
  });
});
