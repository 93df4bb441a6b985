import { expect, it } from 'vitest';
import { CancelSource } from '../../../src/core/base/cancel.ts';
import { programMethods } from '../../../src/features/languages/index.ts';

// A program that its cell had not awaited called servers for minutes, while no cell ran.
it('a program makes no calls once the cell that started it is over', async () => {
  const made: unknown[] = [];
  let isOver = false;
  const directory = { servers: () => [], tools: async () => [] };
  const handleCall = async ({ params }: { readonly params: object }, { call }: { readonly call: number }) => {
    made.push({ call, ...params });
    return { content: [] };
  };
  const [method] = programMethods({
    directory,
    handleCall,
    run: async (_, { callTool }) => {
      const call = async () => callTool?.({ server: 'files', tool: 'list', arguments: {} }, new CancelSource());
      await call();
      isOver = true;
      await expect(call()).rejects.toMatchObject({ code: 'CALL_REFUSED' });
      return { status: 'success', stdout: '', stderr: '', droppedBytes: 0, durationMs: 0, exitCode: 0, files: [] };
    },
  });
  const params = { language: 'javascript', code: '1', files: [], args: [], stdin: '', wants_files: false };
  const { signal } = new CancelSource();
  const context = { session: 'default', generation: 1, cell: 1, call: 1, loaded: new Set<string>(), signal };
  await method?.[1].run(params, { ...context, isOver: () => isOver, nextNumber: () => 2 });
  expect(made).toEqual([{ call: 2, server: 'files', tool: 'list', arguments: {} }]);
});
