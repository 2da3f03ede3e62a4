/** Area to choose or drop a file. */
import { Button, FileButton, Stack, Text } from '@mantine/core';
import { IconFileUpload } from '@tabler/icons-react';
import { useState } from 'react';
import { texts } from '../../texts/lists.ts';

export function FileDrop({ onFile }: { onFile: (file: File) => void }) {
  const [over, setOver] = useState(false);
  return (
    <section
      className="card drop"
      aria-label={texts.fileToImport}
      data-over={over || undefined}
      onDragOver={event => {
        event.preventDefault();
        setOver(true);
      }}
      onDragLeave={() => setOver(false)}
      onDrop={event => {
        event.preventDefault();
        setOver(false);
        const [file] = event.dataTransfer.files;
        if (file) onFile(file);
      }}
    >
      <Stack align="center" gap="xs" py={48} px="md" ta="center">
        <Text component="span" c="dimmed" lh={0} aria-hidden>
          <IconFileUpload size={32} stroke={1.4} />
        </Text>
        <Text fw={600}>{texts.dropACsvFileHere}</Text>
        <Text size="sm" c="dimmed">
          {texts.dropFileHint}
        </Text>
        <FileButton accept=".csv,.tsv,.txt,text/csv" onChange={file => file && onFile(file)}>
          {props => (
            <Button mt="xs" {...props}>
              {texts.chooseFile}
            </Button>
          )}
        </FileButton>
      </Stack>
    </section>
  );
}
