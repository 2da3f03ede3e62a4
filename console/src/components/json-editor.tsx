/** JSON to write. */
import { CodeField } from '../editor/code.tsx';
import { texts } from '../texts/common.ts';

interface JsonEditorProps {
  label: string;
  description?: string;
  error?: string;
  /** The text, JSON or not yet. */
  value: string;
  onChange: (text: string) => void;
  readOnly?: boolean;
}

export function JsonEditor(props: JsonEditorProps) {
  return <CodeField {...props} language="json" minHeight={110} maxHeight={380} />;
}

/** The object that the text is, or what is wrong with it. */
export function readObject(text: string): { value: Record<string, unknown> } | { error: string } {
  if (text.trim() === '') return { value: {} };
  try {
    const value: unknown = JSON.parse(text);
    if (value !== null && typeof value === 'object' && !Array.isArray(value)) {
      return { value: value as Record<string, unknown> };
    }
    return { error: texts.mustBeAJsonObjectSuch };
  } catch (error) {
    return { error: error instanceof Error ? error.message : texts.notValidJson };
  }
}
