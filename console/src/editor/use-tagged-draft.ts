/**
 * A thing while somebody edits it. It is saved under the tag it was read with, so that a change that somebody else made
 * meanwhile is noticed (412) instead of overwritten. What is typed while a request is under way stays in the draft, and
 * an unsaved draft stays in the tab: leaving for another page and coming back finds it as it was.
 */
import { useQueryClient } from '@tanstack/react-query';
import { useCallback, useEffect, useState } from 'react';
import { ApiError } from '../api.ts';
import { tellFailure, tellSuccess } from '../components/actions.tsx';
import { texts } from '../texts/designer.ts';

export interface Tagged<Stored> {
  value: Stored;
  etag: string | null;
}

type IfMatch = { 'if-match'?: string };

/** One request of a save, and the fields that it carries. */
export interface SaveStep<Stored, Draft> {
  fields: (keyof Draft)[];
  save: (draft: Draft, base: Draft, headers: IfMatch) => Promise<Tagged<Stored>>;
}

interface TaggedDraftOptions<Stored extends { id: number }, Draft extends object> {
  /** What kind of thing and where it belongs; with its number, the name under which the tab keeps what is not saved. */
  place: string;
  organization: string;
  /** Undefined for a new one. */
  loaded: Tagged<Stored> | undefined;
  toDraft: (stored: Stored) => Draft;
  blank: () => Draft;
  create: (draft: Draft) => Promise<Tagged<Stored>>;
  /** One after the other, each under the tag that the one before answered with. */
  steps: (id: number) => SaveStep<Stored, Draft>[];
  load: (id: number) => Promise<Tagged<Stored>>;
  /** What the service would refuse, told beside the fields before it is asked. */
  check?: (draft: Draft) => Record<string, string[]>;
}

interface Kept<Stored, Draft> {
  stored: Tagged<Stored> | undefined;
  base: Draft;
  draft: Draft;
}

export function useTaggedDraft<Stored extends { id: number }, Draft extends object>(
  options: TaggedDraftOptions<Stored, Draft>,
) {
  const { place, organization, loaded, toDraft, blank, create, steps, load, check } = options;
  const queries = useQueryClient();
  const [start] = useState<Kept<Stored, Draft>>(() => {
    const base = loaded ? toDraft(loaded.value) : blank();
    return readKept(keyOf(place, loaded)) ?? { stored: loaded, base, draft: base };
  });
  const [stored, setStored] = useState(start.stored);
  const [base, setBase] = useState(start.base);
  const [draft, setDraft] = useState(start.draft);
  const [isSaving, setSaving] = useState(false);
  const [hasConflict, setConflict] = useState(false);
  const [errors, setErrors] = useState<Record<string, string[]>>({});
  const isDirty = !isSame(draft, base);
  const storageKey = keyOf(place, stored);
  const change = useCallback((changes: Partial<Draft> | ((draft: Draft) => Draft)) => {
    setDraft(current => (typeof changes === 'function' ? changes(current) : { ...current, ...changes }));
  }, []);

  useEffect(() => {
    if (isDirty) sessionStorage.setItem(storageKey, JSON.stringify({ stored, base, draft }));
    else sessionStorage.removeItem(storageKey);
  }, [isDirty, storageKey, stored, base, draft]);
  useEffect(() => {
    if (!isDirty) return;
    const warn = (event: BeforeUnloadEvent) => event.preventDefault();
    window.addEventListener('beforeunload', warn);
    return () => window.removeEventListener('beforeunload', warn);
  }, [isDirty]);

  /** What was saved becomes what later changes are compared with; fields that were typed in meanwhile stay. */
  const settle = (saved: Tagged<Stored>, sent: Draft, fields: (keyof Draft)[]) => {
    const fresh = toDraft(saved.value);
    setStored(saved);
    setBase(current => ({ ...current, ...pick(fresh, fields) }));
    setDraft(current => ({
      ...current,
      ...pick(
        fresh,
        fields.filter(field => isSame(current[field], sent[field])),
      ),
    }));
  };

  /** Answers with the number of what was created or changed; undefined when it was refused. */
  const save = async ({ overwrite = false } = {}): Promise<number | undefined> => {
    const missing = check?.(draft) ?? {};
    setErrors(missing);
    setConflict(false);
    if (Object.keys(missing).length > 0) return undefined;
    setSaving(true);
    try {
      if (!stored) {
        const made = await create(draft);
        // From here on it is kept under the number that it has got.
        sessionStorage.removeItem(storageKey);
        settle(made, draft, Object.keys(draft) as (keyof Draft)[]);
        return made.value.id;
      }
      let { etag } = stored;
      for (const { fields, save: send } of steps(stored.value.id)) {
        if (isSame(pick(draft, fields), pick(base, fields))) continue;
        const saved = await send(draft, base, overwrite || !etag ? {} : { 'if-match': etag });
        settle(saved, draft, fields);
        etag = saved.etag;
      }
      tellSuccess(texts.saved);
      return stored.value.id;
    } catch (error) {
      if (error instanceof ApiError && error.status === 412) setConflict(true);
      else {
        if (error instanceof ApiError) setErrors(error.errors);
        tellFailure(error);
      }
      return undefined;
    } finally {
      setSaving(false);
      void queries.invalidateQueries({ queryKey: [organization] });
    }
  };

  /** What somebody else saved, in place of everything typed here. */
  const reload = async () => {
    if (!stored) return;
    try {
      const fresh = await load(stored.value.id);
      setStored(fresh);
      setBase(toDraft(fresh.value));
      setDraft(toDraft(fresh.value));
      setErrors({});
      setConflict(false);
    } catch (error) {
      tellFailure(error);
    }
  };

  return {
    draft,
    change,
    stored: stored?.value,
    isDirty,
    isSaving,
    hasConflict,
    errors,
    save,
    reload,
    discard: () => {
      setDraft(base);
      setErrors({});
    },
    keepEditing: () => setConflict(false),
  };
}

export type TaggedDraft<Stored extends { id: number }, Draft extends object> = ReturnType<
  typeof useTaggedDraft<Stored, Draft>
>;

export function isSame(a: unknown, b: unknown): boolean {
  return JSON.stringify(a) === JSON.stringify(b);
}

function pick<T extends object>(from: T, fields: (keyof T)[]): Partial<T> {
  return Object.fromEntries(fields.map(field => [field, from[field]])) as Partial<T>;
}

function keyOf(place: string, stored: Tagged<{ id: number }> | undefined): string {
  return `belfry-draft ${place}/${stored?.value.id ?? 'new'}`;
}

function readKept<Stored, Draft>(key: string): Kept<Stored, Draft> | undefined {
  try {
    return JSON.parse(sessionStorage.getItem(key) ?? '') as Kept<Stored, Draft>;
  } catch {
    return undefined;
  }
}
