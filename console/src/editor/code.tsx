/** An editor for code and templates. CodeMirror is loaded when the first one is shown. */
import { Box, Input, Skeleton } from '@mantine/core';
import { lazy, type ReactNode, Suspense, useId } from 'react';
import { texts } from '../texts/designer.ts';
import type { CodeProps } from './code-types.ts';

const CodeMirror = lazy(() => import('./code-mirror.tsx'));

interface FieldProps extends CodeProps {
  hideLabel?: boolean;
  description?: ReactNode;
  /** The API's error for the field. */
  error?: ReactNode;
}

export function CodeField({ hideLabel = false, description, error, sourceErrors = [], ...code }: FieldProps) {
  const id = useId();
  // Errors with a position are underlined in the editor and also listed below it.
  const messages = sourceErrors.map(({ line, column, message }) =>
    line === null || code.singleLine ? message : texts.lineColumn(line, column, message),
  );
  const shown = messages.length > 0 ? messages.join('\n') : error;
  return (
    <Box>
      {!hideLabel && (
        <Input.Label component="span" mb={4}>
          {code.label}
        </Input.Label>
      )}
      {description && (
        <Input.Description id={`${id}-description`} mb={4}>
          {description}
        </Input.Description>
      )}
      <Suspense fallback={<Skeleton height={code.singleLine ? 36 : (code.minHeight ?? 120)} radius="md" />}>
        <CodeMirror
          {...code}
          sourceErrors={sourceErrors}
          describedBy={shown ? `${id}-error` : description ? `${id}-description` : undefined}
          invalid={Boolean(shown)}
        />
      </Suspense>
      {shown && (
        <Input.Error id={`${id}-error`} mt={4} style={{ whiteSpace: 'pre-line' }}>
          {shown}
        </Input.Error>
      )}
    </Box>
  );
}
