import { expect, it } from 'vitest';
import { isTypeScript, toJavaScript } from '../../../src/features/languages/typescript.ts';

it('removes types, and says where something is no TypeScript', async () => {
  const file = (text: string) => ({ name: 'main.ts', content: Buffer.from(text) });
  const { content } = await toJavaScript(file('enum E { A = 3 }\nconst x: number = E.A;\nconsole.log(x);'));
  expect(Buffer.from(content).toString()).toContain('const x = E.A;');
  await expect(toJavaScript(file('const x: = 3'))).rejects.toThrow(/^main\.ts: .*\(1:10\)/);
  expect(['a.ts', 'a.mts', 'a.d.ts', 'a.js'].map(isTypeScript)).toEqual([true, true, false, false]);
});
