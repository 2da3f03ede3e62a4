/** An editor for JSON. */
import { CodeField } from '../editor/code.tsx';
import { texts } from '../texts/common.ts';

interface JsonEditorProps {
  label: string;
  description?: string;
  error?: string;
  /** The text, which may not be valid JSON yet. */
  value: string;
  onChange: (text: string) => void;
  readOnly?: boolean;
}

export function JsonEditor(props: JsonEditorProps) {
  return <CodeField {...props} language="json" minHeight={110} maxHeight={380} />;
}

/** Parses the text as a JSON object, or returns the error. */
export function readObject(text: string): { value: Record<string, unknown> } | { error: string } {
  if (text.trim() === '') return { value: {} };
  try {
    const value: unknown = JSON.parse(text);
    if (value !== null && typeof value === 'object' && !Array.isArray(value)) {
      return { value: value as Record<string, unknown> };
    }
    return { error: texts.mustBeAJsonObject };
  } catch (error) {
    return { error: error instanceof Error ? error.message : texts.notValidJson };
  }
}
