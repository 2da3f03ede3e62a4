/** Choose a file, or drop one. */
import { Button, FileButton, Stack, Text } from '@mantine/core';
import { IconFileUpload } from '@tabler/icons-react';
import { useState } from 'react';

export function FileDrop({ onFile }: { onFile: (file: File) => void }) {
  const [over, setOver] = useState(false);
  return (
    <section
      className="card drop"
      aria-label="File to import"
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
        <Text fw={600}>Drop a CSV file here</Text>
        <Text size="sm" c="dimmed">
          Of any size; it is read in your browser and sent piece by piece.
        </Text>
        <FileButton accept=".csv,.tsv,.txt,text/csv" onChange={file => file && onFile(file)}>
          {props => (
            <Button mt="xs" {...props}>
              Choose a file
            </Button>
          )}
        </FileButton>
      </Stack>
    </section>
  );
}
