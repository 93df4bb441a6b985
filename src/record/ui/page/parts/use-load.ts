/** Reads something from the server when a view opens, and again when it should. */
import { useCallback, useEffect, useRef, useState } from 'preact/hooks';
import { get } from '../api.ts';

export interface Loaded<Answer> {
  /** Undefined until the first answer. Kept while another one is on its way. */
  readonly data: Answer | undefined;
  readonly error: unknown;
  readonly isLoading: boolean;
  readonly reload: () => void;
}

/** `again`: whenever this changes, it is read again. */
export function useLoad<Answer>(path: string, again: unknown = ''): Loaded<Answer> {
  const [state, setState] = useState<{ path: string; data: Answer | undefined; error: unknown; isLoading: boolean }>({
    path,
    data: undefined,
    error: undefined,
    isLoading: true,
  });
  const running = useRef<AbortController>(undefined);
  const reload = useCallback(() => {
    running.current?.abort();
    const control = new AbortController();
    running.current = control;
    setState((old) => ({ ...old, isLoading: true }));
    get<Answer>(path, control.signal).then(
      (data) => setState({ path, data, error: undefined, isLoading: false }),
      (error: unknown) => {
        if (!control.signal.aborted) {
          setState((old) => ({ ...old, path, error, isLoading: false }));
        }
      },
    );
  }, [path]);
  useEffect(() => {
    reload();
    return () => running.current?.abort();
  }, [reload, again]);
  return { data: state.data, error: state.error, isLoading: state.isLoading, reload };
}
