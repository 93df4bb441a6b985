/** What code asks of the host to keep a function for later sessions. */
import { z } from 'zod';
import { checked, type Method } from '../calls/method.ts';
import { isPythonKeyword } from '../catalog/names.ts';
import type { SavedTools } from './saved-tools.ts';

const SaveToolParams = z.strictObject({
  name: z.string().refine((word) => !isPythonKeyword(word), 'a keyword of Python names no function'),
  source: z.string(),
});

/** The methods by name. */
export function savedToolMethods(savedTools: Pick<SavedTools, 'save'>): [string, Method][] {
  return [['save_tool', checked(SaveToolParams, (tool) => savedTools.save(tool))]];
}
