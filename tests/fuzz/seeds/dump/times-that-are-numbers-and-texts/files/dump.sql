-- MySQL dump
CREATE TABLE `login` (`account_id` int, `userid` text);
CREATE TABLE `char` (`char_id` int, `account_id` int, `name` text, `base_level` int);
CREATE TABLE `loginlog` (`time` int, `ip` text, `user` text, `rcode` int, `log` text);
INSERT INTO `loginlog` VALUES (1772366400,'x','a',100,'ok'),('yesterday','x','a',100,'ok');
-- Dump completed
