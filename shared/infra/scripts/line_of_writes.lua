-- The line of writes that the server of the key continues: see the prelude.
return line_of_writes()
