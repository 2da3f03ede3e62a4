/**
 * Unsaved changes, kept in the tab's session storage: a reload or a visit to another page does not lose them. Closing the tab
 * would, so the browser asks first.
 */
import { useEffect } from 'react';

const storageKeyOf = (key: string) => `belfry-draft ${key}`;

export function readKeptDraft<Draft>(key: string): Draft | undefined {
  try {
    return JSON.parse(sessionStorage.getItem(storageKeyOf(key)) ?? '') as Draft;
  } catch {
    return undefined;
  }
}

export function forgetDraft(key: string): void {
  sessionStorage.removeItem(storageKeyOf(key));
}

/** Keeps the draft while there are unsaved changes; undefined without any. */
export function useKeptDraft(key: string | undefined, draft: object | undefined): void {
  const text = draft && JSON.stringify(draft);
  useEffect(() => {
    if (key === undefined) return;
    if (text === undefined) forgetDraft(key);
    else sessionStorage.setItem(storageKeyOf(key), text);
  }, [key, text]);
  const isDirty = key !== undefined && text !== undefined;
  useEffect(() => {
    if (!isDirty) return;
    const warn = (event: BeforeUnloadEvent) => event.preventDefault();
    window.addEventListener('beforeunload', warn);
    return () => window.removeEventListener('beforeunload', warn);
  }, [isDirty]);
}
