/** Buttons, badges, dialogs and other small parts. */
import { signal } from '@preact/signals';
import type { ComponentChildren } from 'preact';
import { useEffect, useId, useRef, useState } from 'preact/hooks';
import { makeVisible } from '../../../../core/catalog/visible.ts';
import { explainFailure } from '../api.ts';
import { notify } from '../store.ts';

interface ActionButtonProps {
  readonly label: ComponentChildren;
  /** Shown after it worked. */
  readonly done?: string;
  readonly act: () => Promise<unknown>;
  readonly kind?: 'primary' | 'danger' | 'plain';
  readonly disabled?: boolean;
  /** For screen readers, if the label alone is not enough: `End session default`. */
  readonly name?: string;
  readonly title?: string | undefined;
}

/** A button for a request: it cannot be pressed twice, and says what failed. */
export function ActionButton({ act, disabled = false, done, kind = 'plain', label, name, title }: ActionButtonProps) {
  const [isBusy, setBusy] = useState(false);
  const press = async (): Promise<void> => {
    setBusy(true);
    try {
      // False: it was called off.
      const result = await act();
      if (done !== undefined && result !== false) {
        notify(done);
      }
    } catch (error) {
      notify(explainFailure(error), true);
    } finally {
      setBusy(false);
    }
  };
  return (
    <button
      type="button"
      class={`button ${kind}`}
      aria-disabled={isBusy || disabled}
      aria-label={name === undefined ? undefined : makeVisible(name)}
      title={title === undefined ? undefined : makeVisible(title)}
      onClick={isBusy || disabled ? undefined : () => void press()}
    >
      {label}
    </button>
  );
}

export function CopyButton({ label, text }: { readonly label: string; readonly text: () => string }) {
  const [isCopied, setCopied] = useState(false);
  const copy = (): void => {
    navigator.clipboard.writeText(text()).then(
      () => {
        setCopied(true);
        window.setTimeout(() => setCopied(false), 1_500);
      },
      (error: unknown) => notify(`Not copied: ${explainFailure(error)}`, true),
    );
  };
  return (
    <button type="button" class="copy-button" aria-label={`Copy: ${label}`} onClick={copy}>
      {isCopied ? 'Copied' : 'Copy'}
    </button>
  );
}

export type Tone = 'good' | 'bad' | 'warn' | 'busy' | 'calm';

export function Badge({ tone, children }: { readonly tone: Tone; readonly children: ComponentChildren }) {
  return <span class={`badge ${tone}`}>{children}</span>;
}

const TONES: Readonly<Record<string, Tone>> = {
  success: 'good',
  ok: 'good',
  ready: 'good',
  accepted: 'good',
  running: 'busy',
  starting: 'busy',
  error: 'bad',
  failed: 'bad',
  failing: 'bad',
  timeout: 'bad',
  removed: 'bad',
  refused: 'warn',
  cancelled: 'warn',
  validation_error: 'warn',
  'login-needed': 'warn',
  'waits for you': 'warn',
  lost: 'warn',
  changed: 'warn',
  added: 'busy',
};

/** A status with its color, or that of another. The word says it too. */
export function Status({ of, status }: { readonly status: string; readonly of?: string }) {
  return <Badge tone={TONES[of ?? status] ?? 'calm'}>{status.replaceAll(/[_-]/g, ' ')}</Badge>;
}

export function Empty({ title, children }: { readonly title: string; readonly children?: ComponentChildren }) {
  return (
    <div class="empty">
      <p class="empty-title">{title}</p>
      {children !== undefined && <p>{children}</p>}
    </div>
  );
}

export function Problem({ error, retry }: { readonly error: unknown; readonly retry?: (() => void) | undefined }) {
  return (
    <div class="problem" role="alert">
      <p>{explainFailure(error)}</p>
      {retry !== undefined && (
        <button type="button" class="button" onClick={retry}>
          Try again
        </button>
      )}
    </div>
  );
}

/** One number with what it counts. */
export function Fact({ label, children }: { readonly label: string; readonly children: ComponentChildren }) {
  return (
    <div class="fact">
      <dt>{label}</dt>
      <dd>{children}</dd>
    </div>
  );
}

interface Confirmation {
  readonly title: string;
  readonly text: ComponentChildren;
  readonly action: string;
  readonly resolve: (isConfirmed: boolean) => void;
}

const asked = signal<Confirmation | undefined>(undefined);

/** Asks before something that cannot be undone. */
export function confirmFirst(title: string, text: ComponentChildren, action: string): Promise<boolean> {
  asked.value?.resolve(false);
  return new Promise((resolve) => {
    asked.value = { title, text, action, resolve };
  });
}

/** Where `confirmFirst` asks; once in the page. */
export function ConfirmDialog() {
  const now = asked.value;
  if (now === undefined) {
    return null;
  }
  const close = (isConfirmed: boolean): void => {
    asked.value = undefined;
    now.resolve(isConfirmed);
  };
  return (
    <Dialog title={now.title} onClose={() => close(false)}>
      <div class="dialog-text">{now.text}</div>
      <div class="buttons end">
        <button type="button" class="button" onClick={() => close(false)}>
          Cancel
        </button>
        <button type="button" class="button danger" onClick={() => close(true)}>
          {now.action}
        </button>
      </div>
    </Dialog>
  );
}

interface DialogProps {
  readonly title: string;
  readonly onClose: () => void;
  readonly children: ComponentChildren;
}

/** The browser keeps the focus inside, closes it with Escape, and brings the focus back. */
export function Dialog({ children, onClose, title }: DialogProps) {
  const box = useRef<HTMLDialogElement>(null);
  const id = useId();
  useEffect(() => {
    const before = document.activeElement;
    box.current?.showModal();
    return () => {
      if (before instanceof HTMLElement && before.isConnected) {
        before.focus();
      }
    };
  }, []);
  const onCancel = (event: Event): void => {
    event.preventDefault();
    onClose();
  };
  return (
    <dialog ref={box} aria-labelledby={id} onCancel={onCancel} class="dialog">
      <h2 id={id}>{makeVisible(title)}</h2>
      {children}
    </dialog>
  );
}
