/** TypeScript as JavaScript: types are removed on the host, so that every engine runs it alike. Nothing is checked. */
import type { ProgramFile } from '../../core/base/program.ts';

export function isTypeScript(name: string): boolean {
  return /\.m?ts$/.test(name) && !name.endsWith('.d.ts');
}

/** The same file with JavaScript in it, line by line. Rejects with the error and its line if it is not TypeScript. */
export async function toJavaScript({ name, content }: ProgramFile): Promise<ProgramFile> {
  const { transform } = await import('sucrase');
  try {
    const { code } = transform(Buffer.from(content).toString('utf8'), {
      transforms: ['typescript'],
      disableESTransforms: true,
    });
    return { name, content: Buffer.from(code) };
  } catch (error) {
    throw new Error(`${name}: ${error instanceof Error ? error.message : String(error)}`, { cause: error });
  }
}
