/** JSON to write. The editor is loaded when it is first shown. */
import { Input, Skeleton } from '@mantine/core';
import { lazy, Suspense } from 'react';

const JsonCode = lazy(() => import('./json-code.tsx'));

interface JsonEditorProps {
  label: string;
  description?: string;
  error?: string;
  /** The text, JSON or not yet. */
  value: string;
  onChange: (text: string) => void;
  readOnly?: boolean;
}

export function JsonEditor({ label, description, error, value, onChange, readOnly = false }: JsonEditorProps) {
  return (
    <Input.Wrapper label={label} labelElement="div" description={description} error={error}>
      <Suspense fallback={<Skeleton height={120} mt={6} />}>
        <JsonCode label={label} value={value} onChange={onChange} readOnly={readOnly} invalid={error !== undefined} />
      </Suspense>
    </Input.Wrapper>
  );
}

/** The object that the text is, or what is wrong with it. */
export function readObject(text: string): { value: Record<string, unknown> } | { error: string } {
  if (text.trim() === '') return { value: {} };
  try {
    const value: unknown = JSON.parse(text);
    if (value !== null && typeof value === 'object' && !Array.isArray(value)) {
      return { value: value as Record<string, unknown> };
    }
    return { error: 'This must be an object: { "name": "value" }' };
  } catch (error) {
    return { error: error instanceof Error ? error.message : 'This is not JSON' };
  }
}
